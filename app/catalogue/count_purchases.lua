-- Moves the follower's position in the purchase log, and counts the purchases in between exactly once.
-- KEYS: the position; the number of baskets; its value when each arrival was first seen; how often each was
-- bought; the number of changes.
-- ARGV: the position before and after; new baskets; the arrivals; how often each item was bought in the baskets.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
local before = tonumber(redis.call('GET', KEYS[2]) or '0')
local any, bought = false, false
for _, id in ipairs(cjson.decode(ARGV[4])) do
  any = true
  redis.call('HSETNX', KEYS[3], id, before)
end
-- Also of items that are no arrivals any more: a rollback may make them so again.
for id, count in pairs(cjson.decode(ARGV[5])) do
  if redis.call('HEXISTS', KEYS[3], id) == 1 then
    redis.call('HINCRBY', KEYS[4], id, count)
    bought = true
  end
end
local after = before + tonumber(ARGV[3])
if after > before then redis.call('SET', KEYS[2], string.format('%.0f', after)) end
-- Baskets without arrivals matter too, but not each of them is worth a new snapshot in every process.
if bought or (any and math.floor(before / 1000) < math.floor(after / 1000)) then
  -- The number is the time in microseconds, or one more than before: a counter could repeat one after a crash.
  local clock, number = redis.call('TIME'), redis.call('GET', KEYS[5]) or '0'
  redis.call('SET', KEYS[5], string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], number + 1)))
end
return 1

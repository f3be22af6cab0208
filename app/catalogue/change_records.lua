-- Replaces records of items that are still what the caller read, and notes the change in the log.
-- KEYS: the records, the number of the latest change, the log of changes.
-- ARGV: the length of the log, then for each item its id, the record that was read and the new one ('': none).
-- Returns the ids of items whose record is no longer the one that was read: nothing was done to these.
--
-- The number of a change is the time in microseconds. A counter could give two changes the same number after a
-- crash that lost the last one. XADD fails if the clock was set back: then the log is deleted first.
local conflicts, changed = {}, {}
for place = 2, #ARGV, 3 do
  local id, before, after = ARGV[place], ARGV[place + 1], ARGV[place + 2]
  if (redis.call('HGET', KEYS[1], id) or '') ~= before then
    conflicts[#conflicts + 1] = id
  elseif after ~= before then
    if after == '' then redis.call('HDEL', KEYS[1], id) else redis.call('HSET', KEYS[1], id, after) end
    changed[#changed + 1] = id
  end
end
if #changed == 0 then return conflicts end
local clock, before = redis.call('TIME'), redis.call('GET', KEYS[2]) or '0'
local number = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], before + 1))
redis.call('SET', KEYS[2], number)
local entry = {'XADD', KEYS[3], 'MAXLEN', '~', ARGV[1], number .. '-0', 'after', before, 'items', cjson.encode(changed)}
if type(redis.pcall(unpack(entry))) == 'table' then
  redis.call('DEL', KEYS[3])
  redis.call(unpack(entry))
end
return conflicts

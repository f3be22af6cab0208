-- Merges fields into an item's override; null removes a field, and an empty override is deleted.
-- KEYS: the overrides, the number of the latest change, the log of changes.
-- ARGV: the item's id, the fields as JSON, the length of the log.
--
-- The number of a change is the time in microseconds. A counter could give two changes the same number after a
-- crash that lost the last one. XADD fails if the clock was set back: then the log is deleted first.
local override = cjson.decode(redis.call('HGET', KEYS[1], ARGV[1]) or '{}')
for name, value in pairs(cjson.decode(ARGV[2])) do
  if value == cjson.null then override[name] = nil else override[name] = value end
end
local text = ''
if next(override) then
  text = cjson.encode(override)
  redis.call('HSET', KEYS[1], ARGV[1], text)
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
local clock, before = redis.call('TIME'), redis.call('GET', KEYS[2]) or '0'
local number = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], before + 1))
redis.call('SET', KEYS[2], number)
local entry = {'XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], number .. '-0',
  'after', before, 'item', ARGV[1], 'override', text}
if type(redis.pcall(unpack(entry))) == 'table' then
  redis.call('DEL', KEYS[3])
  redis.call(unpack(entry))
end

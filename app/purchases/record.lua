-- Appends a purchase to the log, unless its order is known.
--
-- KEYS: the order, the purchase log.
-- ARGV: fingerprint of the purchase, the order as JSON (without `entry` and `timestamp`), milliseconds since 1970
-- or '' for now, seconds to keep the order, then names and values of the log entry.
-- Returns {'recorded' | 'repeated' | 'differs', order as JSON}.
local order_key, log_key = KEYS[1], KEYS[2]
local fingerprint, order, timestamp, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local known = redis.call('GET', order_key)
if known then
  return {cjson.decode(known).fingerprint == fingerprint and 'repeated' or 'differs', known}
end
local entry = redis.call('XADD', log_key, '*', unpack(ARGV, 5))
if timestamp == '' then timestamp = string.match(entry, '^%d+') end
order = '{"entry":"' .. entry .. '","timestamp":' .. timestamp .. ',' .. string.sub(order, 2)
redis.call('SET', order_key, order, 'EX', ttl)
return {'recorded', order}

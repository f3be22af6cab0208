-- Takes or renews the lease of the follower, and returns what it has not read yet.
--
-- KEYS: the lease, the position in the purchase log, the purchase log.
-- ARGV: the follower's name, milliseconds of the lease (0 releases it), most entries.
-- Returns nil if another follower holds the lease, or it is released; else the position ('' before the first)
-- and the entries after it.
local lease, position, log = KEYS[1], KEYS[2], KEYS[3]
local holder = redis.call('GET', lease)
if holder and holder ~= ARGV[1] then return nil end
if ARGV[2] == '0' then
  redis.call('DEL', lease)
  return nil
end
-- Renewed late, so that an idle service writes little to Redis' append-only file.
if not holder or redis.call('PTTL', lease) < tonumber(ARGV[2]) / 2 then
  redis.call('SET', lease, ARGV[1], 'PX', ARGV[2])
end
local after = redis.call('GET', position)
return {after or '', redis.call('XRANGE', log, after and '(' .. after or '-', '+', 'COUNT', ARGV[3])}

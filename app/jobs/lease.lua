-- Takes, renews or gives back the lease of jobs for a process that is not a job but must not run beside one.
--
-- KEYS: the lease. ARGV: the value of the lease, milliseconds until it expires (0: give it back).
-- Returns 1 if the lease is held now.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1

-- Rate limit by the generic cell rate algorithm. A bucket that holds one minute of requests and refills evenly
-- is described by a single time: when it will be full again.
-- KEYS: the client's bucket. ARGV: requests per minute.
-- Returns the microseconds to wait, 0 if the request is allowed.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local minute, step = 60000000, 60000000 / ARGV[1]
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + step
if full_at - now > minute then return math.ceil(full_at - now - minute) end
redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
return 0

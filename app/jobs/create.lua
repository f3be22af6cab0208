-- Add a job to the queue, unless one is queued already.
--
-- KEYS: the index of jobs (a sorted set of ids, by time), the new job, its events, then every job of the index.
-- ARGV: the new job's id, the new job as JSON, the ids of the index that the caller has seen, with spaces.
-- Returns {'ok', new job}, {'waiting', queued job}, or {'changed', ''}: read the index and call again.
local index_key, job_key, events_key = KEYS[1], KEYS[2], KEYS[3]
local id, text, seen = ARGV[1], ARGV[2], ARGV[3]
if table.concat(redis.call('ZREVRANGE', index_key, 0, -1), ' ') ~= seen then return {'changed', ''} end
for position = 4, #KEYS do
  local other = redis.call('GET', KEYS[position])
  if other and cjson.decode(other).state == 'queued' then return {'waiting', other} end
end
local clock = redis.call('TIME')
redis.call('ZADD', index_key, clock[1] * 1000000 + clock[2], id)
redis.call('SET', job_key, text)
redis.call('XADD', events_key, '*', 'job', text)
return {'ok', text}

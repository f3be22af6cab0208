"""The two Lua scripts that write jobs: Redis runs each as a whole or not at all.

A running job holds the lease, a key that expires unless its work process renews it: one job at a time, and a
job whose process is gone is known by the missing lease. Its value is the job's id, a colon and a token of the
process, so that one that was thought dead and wakes up finds itself replaced. Every change is also an entry
of the job's stream of events. Jobs are JSON, see `schemas.Job`; the request travels inside as text, untouched
by Lua.
"""

# KEYS: the index of jobs, the job, its events. ARGV: the job's id, the job, the number of jobs to keep.
# Returns {'ok', job} or {'waiting', the job that waits already}.
CREATE_JOB = """
local ids = redis.call('ZREVRANGE', KEYS[1], 0, -1)
for _, id in ipairs(ids) do
  local text = redis.call('GET', 'tripod:job:' .. id)
  if text and cjson.decode(text).state == 'queued' then return {'waiting', text} end
end
local clock = redis.call('TIME')
redis.call('ZADD', KEYS[1], clock[1] * 1000000 + clock[2], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'job', ARGV[2])
for position = tonumber(ARGV[3]), #ids do
  redis.call('ZREM', KEYS[1], ids[position])
  redis.call('DEL', 'tripod:job:' .. ids[position], 'tripod:job:' .. ids[position] .. ':events')
end
return {'ok', ARGV[2]}
"""

# KEYS: the job, its events, the lease. ARGV: the job's id, and the change as JSON:
#   from    the states in which the job may be
#   lease   'take' it, which renews one's own, be 'dead' (have lost it), or 'any'
#   token   the value of the lease to take
#   milliseconds until it expires
#   unless  a phase in which the change is refused
#   fields  to set; none leaves the job and its events as they are
# Returns {'ok' | 'missing' | 'busy' | 'refused', job or ''}.
CHANGE_JOB = """
local job_key, events_key, lease_key = KEYS[1], KEYS[2], KEYS[3]
local id, change = ARGV[1], cjson.decode(ARGV[2])
local text = redis.call('GET', job_key)
if not text then return {'missing', ''} end
local job = cjson.decode(text)

local allowed = false
for _, state in ipairs(change.from) do allowed = allowed or state == job.state end
local holder = redis.call('GET', lease_key)
if not allowed or (change.unless and change.unless == job.phase) then return {'refused', text} end
local held = holder and string.sub(holder, 1, #id + 1) == id .. ':'
if change.lease == 'take' and holder and holder ~= change.token then return {'busy', text} end
if change.lease == 'dead' and held then return {'refused', text} end

if change.lease == 'take' then
  redis.call('SET', lease_key, change.token, 'PX', change.milliseconds)
  held = true
end
if not change.fields then return {'ok', text} end
for name, value in pairs(change.fields) do job[name] = value end
if job.state ~= 'running' and held then redis.call('DEL', lease_key) end
text = cjson.encode(job)
redis.call('SET', job_key, text)
redis.call('XADD', events_key, 'MAXLEN', '~', 1000, '*', 'job', text)
return {'ok', text}
"""

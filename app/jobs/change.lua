-- Change a job, and append the changed job to its stream of events.
--
-- A running job holds the lease, a key that expires unless its work process renews it. So one job runs at a
-- time, and a running job without the lease has lost its process. The value of the lease is the job's id, a
-- colon and a random text: a process that was replaced while it was suspended finds another value.
--
-- KEYS: the job, its events, the lease.
-- ARGV: the job's id, and the change as JSON:
--   from     states in which the job may be, unless it holds the lease with this token
--   token    value of the lease: take or renew it
--   seconds  until the lease expires
--   dead     true: change only a job that does not hold the lease
--   unless   phase in which the change is refused
--   fields   fields to set; without them only the lease is renewed
-- Returns {'ok' | 'missing' | 'busy' | 'refused', job or ''}.
local job_key, events_key, lease_key = KEYS[1], KEYS[2], KEYS[3]
local id, change = ARGV[1], cjson.decode(ARGV[2])
local text = redis.call('GET', job_key)
if not text then return {'missing', ''} end
local job = cjson.decode(text)

local holder = redis.call('GET', lease_key)
local allowed = holder and holder == change.token  -- so a claim whose answer was lost can be repeated
for _, state in ipairs(change.from) do allowed = allowed or state == job.state end
local held = holder and string.sub(holder, 1, #id + 1) == id .. ':'
if not allowed or (change.unless and change.unless == job.phase) then return {'refused', text} end
if change.dead and held then return {'refused', text} end
if change.token and holder and holder ~= change.token then return {'busy', text} end

if change.token then
  redis.call('SET', lease_key, change.token, 'PX', math.floor(change.seconds * 1000))
  held = true
end
if not change.fields then return {'ok', text} end
for name, value in pairs(change.fields) do job[name] = value end
if job.state ~= 'running' and held then redis.call('DEL', lease_key) end
text = cjson.encode(job)
redis.call('SET', job_key, text)
redis.call('XADD', events_key, 'MAXLEN', '~', 1000, '*', 'job', text)
return {'ok', text}

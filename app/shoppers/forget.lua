-- Forgets a shopper in one step: deletes the profile and the carts, and notes that it must not come back.
--
-- KEYS: the profile, the list of carts, the time of forgetting, the purchase log, the note for the worker.
-- ARGV: the shopper's hash, the prefix of carts, seconds to remember the time, 1 if files may hold purchases.
-- Returns whether there was a profile, the number of carts, and the id in the log up to which purchases must
-- be deleted.
local profile, carts, forgotten, log, note = unpack(KEYS)
local shopper, cart_prefix, seconds = ARGV[1], ARGV[2], ARGV[3]
local had_profile, deleted = redis.call('DEL', profile), 0
for _, id in ipairs(redis.call('SMEMBERS', carts)) do
  local text = redis.call('GET', cart_prefix .. id)
  if text and cjson.decode(text).shopper == shopper then  -- it may belong to another shopper by now
    deleted = deleted + redis.call('DEL', cart_prefix .. id)
  end
end
redis.call('DEL', carts)
local clock = redis.call('TIME')
local now = string.format('%.0f', tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
local last = now .. '-0'
-- The worker removes purchases from files when it reads this entry, and deletes the entry.
if ARGV[4] == '1' then last = redis.call('XADD', log, '*', 'forget', shopper) end
redis.call('SET', forgotten, string.match(last, '^%d+'), 'EX', seconds)
redis.call('SET', note, 1)
return {had_profile, deleted, last}

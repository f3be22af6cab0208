-- Cancels a purchase or takes lines of it back: appends a correction to the log and changes the order.
--
-- KEYS: the order, the purchase log, and, if the request has one, its Idempotency-Key.
-- ARGV[1]: the request as JSON, see `Correction` in store.py. `returned` has each item once; without it the whole
-- purchase is cancelled.
-- Returns {'ok' | 'missing' | 'key_reused' | 'too_many', order as JSON or ''}.
local order_key, log_key, idempotency_key = KEYS[1], KEYS[2], KEYS[3]
local request = cjson.decode(ARGV[1])

local text = redis.call('GET', order_key)
if not text then return {'missing', ''} end
if idempotency_key then
  local known_request = redis.call('GET', idempotency_key)
  if known_request == request.fingerprint then return {'ok', text} end
  if known_request then return {'key_reused', ''} end
end
local order = cjson.decode(text)

local left = {}
if request.returned then
  local returned = {}
  for _, line in ipairs(request.returned) do returned[line[1]] = line[2] end
  for _, line in ipairs(order.lines) do
    local quantity = line[2] - (returned[line[1]] or 0)
    if quantity < 0 then return {'too_many', text} end
    if quantity > 0 then table.insert(left, {line[1], quantity}) end
    returned[line[1]] = nil
  end
  if next(returned) then return {'too_many', text} end
elseif order.status == 'cancelled' then
  return {'ok', text}
end

local entry = {'corrects', order.entry, 'lines', #left > 0 and cjson.encode(left) or '[]'}
local function add(name, value)
  table.insert(entry, name)
  table.insert(entry, value)
end
add('timestamp', string.format('%.0f', order.timestamp))
if order.shopper then add('shopper', order.shopper) end
if request.order_id ~= order.entry then add('order_id', request.order_id) end  -- a cart has no order id
redis.call('XADD', log_key, '*', unpack(entry))

order.lines = left
order.status = #left > 0 and 'partly_returned' or 'cancelled'
text = cjson.encode(order)
redis.call('SET', order_key, text, 'KEEPTTL')
if idempotency_key then
  redis.call('SET', idempotency_key, request.fingerprint, 'EX', request.idempotency_ttl)
end
return {'ok', text}

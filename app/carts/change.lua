-- Changes a cart. Redis runs a script as a whole: the Idempotency-Key, If-Match and If-None-Match, the change
-- itself and the entry in the purchase log are one step, so no two requests interleave and no crash leaves
-- half of them behind.
--
-- KEYS: the cart, the purchase log, and, if the request has one, its Idempotency-Key.
-- ARGV[1]: the request as JSON, see `Change` in store.py. Returns {outcome, cart as JSON or ''}.
-- A merge also reads and deletes the other cart, whose key is made here from `from_cart_id`.
--
-- The value of an Idempotency-Key is a digest of its request and the id of the cart it changed, on two lines.
local cart_key, log_key, idempotency_key = KEYS[1], KEYS[2], KEYS[3]
local request = cjson.decode(ARGV[1])

if idempotency_key then
  local known_request = redis.call('GET', idempotency_key)
  if known_request then
    local break_at = string.find(known_request, '\n', 1, true)
    if string.sub(known_request, 1, break_at - 1) ~= request.fingerprint then return {'key_reused', ''} end
    -- Not KEYS[1]: a repeated creation has a new id, but means the cart of the first one.
    local cart_id = string.sub(known_request, break_at + 1)
    local known = redis.call('GETEX', request.cart_prefix .. cart_id, 'EX', request.ttl)
    if not known then return {'gone', ''} end
    return {'ok', known}
  end
end

local text = redis.call('GET', cart_key)
local cart = text and cjson.decode(text) or nil

local function named_in(tags)
  for _, tag in ipairs(tags) do
    if cart and (tag == '*' or tag == '"' .. cart.etag .. '"') then return true end
  end
  return false
end
if request.if_match and not named_in(request.if_match) then return {'changed', text or ''} end
if request.if_none_match and named_in(request.if_none_match) then return {'excluded', text} end

-- The shopper's carts are listed so that all can be deleted when the shopper is forgotten.
local function carts_of(shopper) return request.shopper_carts_prefix .. shopper end
local function delete(key, deleted)
  redis.call('DEL', key)
  if deleted.shopper then redis.call('SREM', carts_of(deleted.shopper), deleted.cart_id) end
end

if request.kind == 'delete' then
  if not cart then return {'missing', ''} end
  delete(cart_key, cart)
  return {'ok', text}
end
if cart and cart.purchase_id then return {'checked_out', text} end

local other_key, other
if request.kind == 'merge' then
  other_key = request.cart_prefix .. request.from_cart_id
  local other_text = redis.call('GET', other_key)
  if not other_text then return {'other_missing', ''} end
  other = cjson.decode(other_text)
  if other.purchase_id then return {'other_checked_out', other_text} end
  request.lines = other.lines
end

local clock = redis.call('TIME')
local now = tonumber(clock[1])
if not cart then
  if request.kind == 'remove' or request.kind == 'checkout' then return {'missing', ''} end
  -- The time of creation is part of every ETag, so a deleted and recreated cart never repeats one.
  cart = {cart_id = request.cart_id, created = now, changes = 0, lines = {}}
  cart.birth = clock[1] .. '.' .. clock[2]
end

local previous_shopper = cart.shopper
cart.shopper = request.shopper or cart.shopper or (other and other.shopper)

local place = {}
for position, line in ipairs(cart.lines) do place[line[1]] = position end

if request.kind == 'add' or request.kind == 'set' or request.kind == 'merge' then
  for _, line in ipairs(request.lines) do
    local position = place[line[1]]
    if not position then
      position = #cart.lines + 1
      place[line[1]] = position
      cart.lines[position] = {line[1], 0}
    end
    local before = request.kind == 'set' and 0 or cart.lines[position][2]
    cart.lines[position][2] = before + line[2]
    if cart.lines[position][2] > request.max_quantity then return {'too_many', text or ''} end
  end
  if #cart.lines > request.max_lines then return {'full', text or ''} end
elseif request.kind == 'remove' then
  local position = place[request.lines[1][1]]
  if not position then return {'no_line', text} end
  table.remove(cart.lines, position)
elseif request.kind == 'checkout' then
  if #cart.lines == 0 then return {'empty', text} end
  local entry = {'cart_id', cart.cart_id, 'lines', cjson.encode(cart.lines)}
  if cart.shopper then
    table.insert(entry, 'shopper')
    table.insert(entry, cart.shopper)
  end
  cart.purchase_id = redis.call('XADD', log_key, '*', unpack(entry))
  -- The same record as of a posted purchase, so that this one can be cancelled and returned too.
  local order = {entry = cart.purchase_id, shopper = cart.shopper, lines = cart.lines, status = 'recorded'}
  order.timestamp = tonumber(string.match(cart.purchase_id, '^%d+'))
  order.fingerprint = ''
  redis.call('SET', request.order_prefix .. cart.purchase_id, cjson.encode(order), 'EX', request.order_ttl)
end

cart.changes = cart.changes + 1
cart.etag = cart.birth .. '-' .. cart.changes
cart.updated = now
local result = cjson.encode(cart)
redis.call('SET', cart_key, result, 'EX', request.ttl)
if other then delete(other_key, other) end
if previous_shopper and previous_shopper ~= cart.shopper then
  redis.call('SREM', carts_of(previous_shopper), cart.cart_id)
end
if cart.shopper then
  local list = carts_of(cart.shopper)
  if redis.call('SADD', list, cart.cart_id) == 1 and redis.call('SCARD', list) % request.check_carts == 0 then
    for _, id in ipairs(redis.call('SMEMBERS', list)) do
      if redis.call('EXISTS', request.cart_prefix .. id) == 0 then redis.call('SREM', list, id) end  -- expired
    end
  end
  redis.call('EXPIRE', list, request.shopper_ttl)
end
if idempotency_key then
  redis.call('SET', idempotency_key, request.fingerprint .. '\n' .. cart.cart_id, 'EX', request.idempotency_ttl)
end
return {'ok', result}

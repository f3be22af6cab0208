-- Changes a shopper's profile in one step: puts, corrects and removes baskets, and keeps it within bounds.
--
-- KEYS: the profile, and the time in milliseconds at which the shopper was forgotten, if ever.
-- ARGV[1]: JSON with
--   put: baskets {digest, seconds, item ids, milliseconds}; one with a known digest replaces it; one whose
--     milliseconds are before the shopper was forgotten is left out
--   correct: {digest, item ids}; no item ids remove the basket
--   old: whether the baskets to put may be older than corrections that the profile has: then they replace no
--     basket, and those that were corrected stay away
--   ttl, most_baskets, most_lines
-- The profile is JSON: {"items": [ids], "baskets": [[digest, seconds, [indexes into items from 0]]],
-- "corrected": [digests of baskets that it does not have]}, oldest basket first. Over the bounds, the oldest
-- baskets and digests are dropped.
local profile_key, forgotten_key = KEYS[1], KEYS[2]
local request = cjson.decode(ARGV[1])
local text = redis.call('GET', profile_key)
local profile = text and cjson.decode(text) or {items = {}, baskets = {}}
local forgotten = tonumber(redis.call('GET', forgotten_key) or '-1')

local baskets, number = {}, 0  -- by digest, with item ids
local function put(digest, seconds, ids)
  number = number + 1
  baskets[digest] = {digest, seconds, ids, number}
end
for _, basket in ipairs(profile.baskets) do
  local ids = {}
  for place, index in ipairs(basket[3]) do ids[place] = profile.items[index + 1] end
  put(basket[1], basket[2], ids)
end
local corrected, is_corrected = profile.corrected or {}, {}
for _, digest in ipairs(corrected) do is_corrected[digest] = true end
for _, basket in ipairs(request.put) do
  local stale = request.old and (baskets[basket[1]] or is_corrected[basket[1]])
  if basket[4] > forgotten and not stale then put(basket[1], basket[2], basket[3]) end
end
for _, correction in ipairs(request.correct) do
  local known, digest = baskets[correction[1]], correction[1]
  if known then known[3] = correction[2] end
  if (not known or #known[3] == 0) and not is_corrected[digest] then
    corrected[#corrected + 1] = digest
    is_corrected[digest] = true
  end
end
while #corrected > request.most_baskets do table.remove(corrected, 1) end

local kept = {}
for _, basket in pairs(baskets) do
  if #basket[3] > 0 then kept[#kept + 1] = basket end
end
table.sort(kept, function(one, other)  -- newest first
  if one[2] ~= other[2] then return one[2] > other[2] end
  return one[4] > other[4]
end)

local lines, first = 0, 0  -- the place of the oldest basket within the bounds
for place, basket in ipairs(kept) do
  lines = lines + #basket[3]
  if place > request.most_baskets or lines > request.most_lines then break end
  first = place
end
if first == 0 and #corrected == 0 then
  redis.call('DEL', profile_key)
  return 0
end

local items, index_of, result = {}, {}, {}
for place = first, 1, -1 do
  local basket, indexes, seen = kept[place], {}, {}
  for _, id in ipairs(basket[3]) do
    if not index_of[id] then
      items[#items + 1] = id
      index_of[id] = #items
    end
    if not seen[id] then indexes[#indexes + 1] = index_of[id] - 1 end
    seen[id] = true
  end
  result[#result + 1] = {basket[1], basket[2], indexes}
end
local function list(values) return #values > 0 and cjson.encode(values) or '[]' end  -- cjson writes {}
local parts = {'{"items":', list(items), ',"baskets":', list(result)}
if #corrected > 0 then parts[#parts + 1] = ',"corrected":' .. list(corrected) end
redis.call('SET', profile_key, table.concat(parts) .. '}', 'EX', request.ttl)
return #result

-- KEYS 1 shares   ARGV 1 node  2 duration in ms  3 part in use  4 weight   Returns the part that the node may use, as text.
-- A field is a node's, its value "<part> <expires, server ms>", and " <weight>" where that is not 1.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.call('HGETALL', KEYS[1])
local mine, weights, taken = tonumber(ARGV[4]), tonumber(ARGV[4]), 0
for i = 1, #fields, 2 do
  local part, expires, weight = string.match(fields[i + 1], '^(%S+) (%S+)(.*)$')
  if tonumber(expires) - now > tonumber(ARGV[2]) then  -- the clock was set back
    expires = string.format('%.0f', now + ARGV[2])
    redis.call('HSET', KEYS[1], fields[i], part .. ' ' .. expires .. weight)
  end
  if tonumber(expires) <= now then
    redis.call('HDEL', KEYS[1], fields[i])
  elseif fields[i] ~= ARGV[1] then
    weights, taken = weights + (tonumber(weight) or 1), taken + tonumber(part)
  end
end
local may = math.max(0, math.min(mine / weights, 1 - taken))
local counted = string.format('%.17g %.0f', math.max(may, tonumber(ARGV[3])), now + ARGV[2])
if mine ~= 1 then counted = counted .. ' ' .. ARGV[4] end
redis.call('HSET', KEYS[1], ARGV[1], counted)
return string.format('%.17g', may)

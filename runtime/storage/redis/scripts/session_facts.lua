-- Writes facts of a session that is not at work; those that are there already are left.
-- KEYS 1 anchors  2 the session's values  3.. tapes and large values
-- ARGV lengths and items of three lists: anchors, large values (number of the key, hash, text),
--      facts (number of the key, seq, kind, time, data, its values)
local position = 1
local function list(size)
  local first = position + 1
  local last = position + tonumber(ARGV[position]) * size
  position = last + 1
  return first, last
end

local first, last = list(1)
for i = first, last do redis.call('ZADD', KEYS[1], 0, ARGV[i]) end
first, last = list(3)
for i = first, last, 3 do
  local value = KEYS[tonumber(ARGV[i])]
  if redis.call('SADD', KEYS[2], ARGV[i + 1]) == 1 then redis.call('HINCRBY', value, 'sessions', 1) end
  redis.call('HSETNX', value, 'text', ARGV[i + 2])
end
first, last = list(6)
for i = first, last, 6 do
  local tape, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1] .. '-0'
  if #redis.call('XRANGE', tape, id, id) == 0 then
    local fact = {'k', ARGV[i + 2], 't', ARGV[i + 3], 'd', ARGV[i + 4]}
    if ARGV[i + 5] ~= '' then fact[7], fact[8] = 'v', ARGV[i + 5] end
    redis.call('XADD', tape, id, unpack(fact))
  end
end
return 1

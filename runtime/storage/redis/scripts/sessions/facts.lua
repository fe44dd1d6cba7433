-- Writes facts of a session that is not at work; those that are there already are left.
-- KEYS 1 session  2 its tapes  3 anchors  4 the session's values  5.. tapes and large values
-- ARGV 1 what the session has to have, a field of its hash, or "": then nothing has to be there
--      then lengths and items of four lists: tapes, anchors, large values (number of the key, hash, text),
--      facts (number of the key, seq, kind, time, data, its values)
-- Returns 1, or 0 when the session has not what it has to have: then nothing was written.
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local position = 2
local function list(size)
  local first = position + 1
  local last = position + tonumber(ARGV[position]) * size
  position = last + 1
  return first, last
end

local first, last = list(1)
for i = first, last do redis.call('SADD', KEYS[2], ARGV[i]) end
first, last = list(1)
for i = first, last do redis.call('ZADD', KEYS[3], 0, ARGV[i]) end
first, last = list(3)
for i = first, last, 3 do
  local value = KEYS[tonumber(ARGV[i])]
  if redis.call('SADD', KEYS[4], ARGV[i + 1]) == 1 then redis.call('HINCRBY', value, 'sessions', 1) end
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

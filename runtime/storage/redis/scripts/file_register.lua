-- Counts a file as the latest one. KEYS 1 order  2 sizes  3 total  4 entries  5 accounts  6 account totals  7 last
-- ARGV 1 file id  2 size in bytes ('' for a known one)  3 bound of all in bytes  4 account ('' for none)
-- 5 bound of the account  6 '1' when it is attached to a message: then it goes after all that are not
-- Returns the ids of the files that must go: the account's oldest, then the oldest of all, unattached ones first.
local ATTACHED = 2 ^ 48
local known = redis.call('HGET', KEYS[2], ARGV[1])
local size = tonumber(ARGV[2] ~= '' and ARGV[2] or known)
if not size then return {} end
local entry = redis.call('HGET', KEYS[4], ARGV[1])
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0')
local account, bound, attached = ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
if score >= ATTACHED and not attached then
  account, bound, attached = string.match(entry, '^([^\1]*)\1'), math.huge, true
end
if entry then
  redis.call('ZREM', KEYS[5], entry)
  redis.call('HINCRBY', KEYS[6], string.match(entry, '^([^\1]*)\1'), -tonumber(known or '0'))
end
local number = redis.call('INCR', KEYS[7])
entry = string.format('%s\1%016d\1%s', account, number, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], size)
redis.call('INCRBY', KEYS[3], size - tonumber(known or '0'))
redis.call('ZADD', KEYS[1], number + (attached and ATTACHED or 0), ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], entry)
redis.call('ZADD', KEYS[5], 0, entry)
redis.call('HINCRBY', KEYS[6], account, size)
local gone, is_gone, left = {}, {}, tonumber(redis.call('GET', KEYS[3]))
local function leave(id)
  local freed = tonumber(redis.call('HGET', KEYS[2], id) or '0')
  gone[#gone + 1], is_gone[id], left = id, true, left - freed
  return freed
end
if account ~= '' then
  local over = tonumber(redis.call('HGET', KEYS[6], account)) - bound
  local from, to, place = '[' .. account .. '\1', '(' .. account .. '\2', 0
  while over > 0 do
    local oldest = redis.call('ZRANGEBYLEX', KEYS[5], from, to, 'LIMIT', place, 1)[1]
    local id = oldest and string.match(oldest, '([^\1]*)$')
    if not id or id == ARGV[1] then break end
    over, place = over - leave(id), place + 1
  end
end
local place = 0
while left > tonumber(ARGV[3]) do
  local id = redis.call('ZRANGE', KEYS[1], place, place)[1]
  if not id then break end
  if id ~= ARGV[1] and not is_gone[id] then leave(id) end
  place = place + 1
end
return gone

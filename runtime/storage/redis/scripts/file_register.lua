-- Counts a file as the latest one. KEYS 1 order  2 sizes  3 total  4 entries  5 accounts  6 account totals  7 last
-- 8 owners  9 owned  10 owned entries
-- ARGV 1 file id  2 size in bytes ('' for a known one)  3 bound of all in bytes  4 account ('' for none)
-- 5 bound of the account  6 '1' when it is attached to a message: then it goes after all that are not
-- 7 mark of who sent it, '' where nobody is known: then it is owned by its account
-- Returns the ids of the files that must go: the account's oldest, then those of the owner of most, unattached ones first.
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
local function own(owner, id, number, attached, bytes)
  local owned = string.format('%s\1%d%016d\1%s', owner, attached and 1 or 0, number, id)
  redis.call('HSET', KEYS[10], id, owned)
  redis.call('ZADD', KEYS[9], 0, owned)
  redis.call('ZINCRBY', KEYS[8], bytes, owner)
end
if redis.call('EXISTS', KEYS[8]) == 0 then -- files that an earlier version counted
  local all = redis.call('HGETALL', KEYS[4])
  for i = 1, #all, 2 do
    if all[i] ~= ARGV[1] then
      local whose, at = string.match(all[i + 1], '^([^\1]*)\1(%d+)\1')
      local earlier = tonumber(redis.call('ZSCORE', KEYS[1], all[i]) or '0') >= ATTACHED
      own(whose, all[i], tonumber(at), earlier, tonumber(redis.call('HGET', KEYS[2], all[i]) or '0'))
    end
  end
end
local owner, owned = ARGV[7] ~= '' and ARGV[7] or account, redis.call('HGET', KEYS[10], ARGV[1])
if owned then
  owner = string.match(owned, '^([^\1]*)\1') -- whoever sends the same again has not made it theirs
  redis.call('ZREM', KEYS[9], owned)
  redis.call('ZINCRBY', KEYS[8], -tonumber(known or '0'), owner)
end
own(owner, ARGV[1], number, attached, size)
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
if left <= tonumber(ARGV[3]) then return gone end
local whose = {} -- by owner: what is left of it, the place of its next file, and that file
local function look(one)
  repeat
    local next = redis.call('ZRANGEBYLEX', KEYS[9], '[' .. one.name .. '\1', '(' .. one.name .. '\2', 'LIMIT', one.place, 1)[1]
    one.id, one.rank, one.place = nil, nil, one.place + 1
    if next then one.rank, one.id = string.match(next, '\1(%d+)\1([^\1]*)$') end
  until not one.id or (one.id ~= ARGV[1] and not is_gone[one.id])
end
local owners = redis.call('ZRANGE', KEYS[8], 0, -1, 'WITHSCORES')
for i = 1, #owners, 2 do whose[#whose + 1] = {name = owners[i], bytes = tonumber(owners[i + 1]), place = 0} end
while left > tonumber(ARGV[3]) do
  local most
  for _, one in ipairs(whose) do
    if not most or one.bytes >= most.bytes then
      if not one.looked then look(one) one.looked = true end
      if one.id and (not most or one.bytes > most.bytes or one.rank < most.rank) then most = one end
    end
  end
  if not most then break end
  most.bytes = most.bytes - leave(most.id)
  look(most)
end
return gone

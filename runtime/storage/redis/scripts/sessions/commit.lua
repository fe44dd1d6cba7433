-- Makes a commit true, or changes nothing.
-- KEYS 1 lease  2 session  3 inbox  4 awake  5 outbox  6 current  7 tapes  8 the session that is replaced, or 2 again
--      9 sessions  10 news  11 anchors  12 the session's values  13.. tapes with new facts, and large values
-- ARGV 1 token  2 expect  3 digest  4 session id  5 awake ("1", "0", "")  6 end ("1", "")
--      7 begin: conversation, or ""  8 address  9 program  10 started_at  11 parent, or ""  12 its seq
--      13 the id of the session that is replaced, or ""
--      14 who sends it, or ""  15 the number of this call among the sender's, which only grows
--      16 the number of the shard's last commit that the sender knows of
--      17 the mark of the insertion by which the session, or the one that is replaced, came here, "-" for none, or ""
--         where that is not asked
--      then the lengths and items of seven lists: consumed entries, pages to add, pages done, anchors,
--      large values (number of the key, hash, text), facts (number of the key, seq, kind, time, data, its values),
--      events for other programs (type, tape, seq); where there are some, the last two keys are the shard's events and
--      what was cut off of them, and two arguments follow: how long and how many of them are kept;
--      and the tapes
-- Returns {"ok"|"again", the number of the last fact, the number of the shard's last commit}, or
--   {"forgotten" (the server has lost commits)|"lease"|"conflict"|"unknown"|"replaced"|"anew"|"archived"|"taken", the number
--   found}.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
  return {'lease', tonumber(redis.call('HGET', KEYS[1], 'token') or '0')}
end

local commits = tonumber(redis.call('HGET', KEYS[1], 'commits') or '0')
if commits < tonumber(ARGV[16]) then return {'forgotten', commits} end

local expect, beginning = tonumber(ARGV[2]), ARGV[7] ~= ''
local known = redis.call('HMGET', KEYS[2], 'seq', 'digest', 'writer', 'call', 'replaced_by', 'archived')
local seq = tonumber(known[1] or (beginning and ARGV[12]) or '0')
if known[2] == ARGV[3] then
  -- Written again, so that who waits for a replica waits for it.
  redis.call('HSET', KEYS[2], 'digest', ARGV[3])
  return {'again', seq, commits}
end
-- A copy that was on its way for long: its sender has had the answer, and committed more since.
if ARGV[14] ~= '' and known[3] == ARGV[14] and tonumber(ARGV[15]) <= tonumber(known[4]) then return {'again', seq, commits} end
if known[5] then return {'replaced', seq} end
local from = redis.call('HMGET', KEYS[8], 'seq', 'taken_in')
if ARGV[17] ~= '' and from[1] and (from[2] or '-') ~= ARGV[17] then return {'anew', seq} end
if seq ~= expect then return {'conflict', seq} end
if known[6] then return {'archived', seq} end
if not known[1] and not beginning then return {'unknown', 0} end
if ARGV[13] ~= '' and redis.call('HGET', KEYS[8], 'conversation') ~= ARGV[7] then return {'unknown', 0} end

local position = 18
local function list(size)
  local first = position + 1
  local last = position + tonumber(ARGV[position]) * size
  position = last + 1
  return first, last
end

local first, last = list(1)
for i = first, last do
  if #redis.call('XRANGE', KEYS[3], ARGV[i], ARGV[i]) == 0 then return {'taken', seq} end
end
for i = first, last do redis.call('XDEL', KEYS[3], ARGV[i]) end
first, last = list(1)
for i = first, last do redis.call('SADD', KEYS[5], ARGV[i]) end
first, last = list(1)
for i = first, last do redis.call('SREM', KEYS[5], ARGV[i]) end
first, last = list(1)
for i = first, last do redis.call('ZADD', KEYS[11], 0, ARGV[i]) end
first, last = list(3)
for i = first, last, 3 do
  local value = KEYS[tonumber(ARGV[i])]
  if redis.call('SADD', KEYS[12], ARGV[i + 1]) == 1 then redis.call('HINCRBY', value, 'sessions', 1) end
  redis.call('HSETNX', value, 'text', ARGV[i + 2])
end
first, last = list(6)
for i = first, last, 6 do
  local fact = {'k', ARGV[i + 2], 't', ARGV[i + 3], 'd', ARGV[i + 4]}
  if ARGV[i + 5] ~= '' then fact[7], fact[8] = 'v', ARGV[i + 5] end
  redis.call('XADD', KEYS[tonumber(ARGV[i])], ARGV[i + 1] .. '-0', unpack(fact))
  seq = tonumber(ARGV[i + 1])
end
if first <= last then redis.call('XADD', KEYS[10], 'MAXLEN', '~', 100, '*', 's', ARGV[4]) end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
first, last = list(3)
if first <= last then
  local events, cut = KEYS[#KEYS - 1], KEYS[#KEYS]
  for i = first, last, 3 do
    redis.call('XADD', events, '*', 'y', ARGV[i], 'f', ARGV[i + 1], 'q', ARGV[i + 2])
  end
  local oldest, over = now_ms - tonumber(ARGV[position]), redis.call('XLEN', events) - tonumber(ARGV[position + 1])
  position = position + 2
  for i, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', 2 * (last - first + 1))) do
    if i > over and tonumber(entry[1]:match('^%d+')) >= oldest then break end
    redis.call('XDEL', events, entry[1])
    redis.call('SET', cut, entry[1])
  end
end
while position <= #ARGV do
  redis.call('SADD', KEYS[7], ARGV[position])
  position = position + 1
end

if ARGV[5] == '1' then redis.call('SADD', KEYS[4], ARGV[4]) end
if ARGV[5] == '0' then redis.call('SREM', KEYS[4], ARGV[4]) end
if beginning then
  redis.call('HSET', KEYS[2], 'address', ARGV[8], 'program', ARGV[9], 'started_at', ARGV[10],
    'conversation', ARGV[7], 'ended', '0', 'anchors', '1')
  if ARGV[11] ~= '' then redis.call('HSET', KEYS[2], 'parent', ARGV[11], 'parent_seq', ARGV[12]) end
  redis.call('HSET', KEYS[6], ARGV[7], ARGV[4])
end
if ARGV[13] ~= '' then
  redis.call('HSET', KEYS[8], 'ended', '1', 'replaced_by', ARGV[4])
  redis.call('SREM', KEYS[4], ARGV[13])
  for _, member in ipairs(redis.call('SMEMBERS', KEYS[5])) do
    local readable, page = pcall(cjson.decode, member)
    if readable and type(page) == 'table' and page[1] == ARGV[13] then redis.call('SREM', KEYS[5], member) end
  end
end
redis.call('ZADD', KEYS[9], now_ms, ARGV[4])
redis.call('HSET', KEYS[2], 'seq', seq, 'digest', ARGV[3], 'writer', ARGV[14], 'call', ARGV[15])
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[2], 'ended', '1')
  local conversation = redis.call('HGET', KEYS[2], 'conversation')
  if redis.call('HGET', KEYS[6], conversation) == ARGV[4] then redis.call('HDEL', KEYS[6], conversation) end
end
return {'ok', seq, redis.call('HINCRBY', KEYS[1], 'commits', 1)}

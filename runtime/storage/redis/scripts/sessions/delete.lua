-- Takes a session out, or changes nothing. KEYS 1 lease  2 session  3 awake  4 outbox  5 current  6 tapes  7 forks
--      8 snapshot  9 sessions  10 news  11 anchors  12 the session's values
--      13 the shard's calls of models
--      14.. its tapes, first those of its own, then those of early facts, the same ones; then its large values
-- ARGV 1 session id  2 force ("1", "")  3 how many tapes it has  4 the beginning of the keys of calls
-- Returns {"ok"|"gone"|"busy"|"grown", the serving node or ""}.
-- "grown": it has other tapes or large values by now, or another session goes on from it.
local conversation = redis.call('HGET', KEYS[2], 'conversation')
if not conversation then return {'gone', ''} end
local pages = {}
for _, member in ipairs(redis.call('SMEMBERS', KEYS[4])) do
  local readable, page = pcall(cjson.decode, member)
  if readable and type(page) == 'table' and page[1] == ARGV[1] then pages[#pages + 1] = member end
end
if ARGV[2] ~= '1' and (#pages > 0 or redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 1) then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held = redis.call('HMGET', KEYS[1], 'node', 'expires')
  if held[1] and tonumber(held[2]) > now then return {'busy', held[1]} end
end
local tapes = tonumber(ARGV[3])
local values = 13 + 2 * tapes
if redis.call('SCARD', KEYS[6]) ~= tapes or redis.call('SCARD', KEYS[12]) ~= #KEYS - values
  or redis.call('EXISTS', KEYS[7]) == 1 then
  return {'grown', ''}
end
for _, member in ipairs(pages) do redis.call('SREM', KEYS[4], member) end
redis.call('SREM', KEYS[3], ARGV[1])
if redis.call('HGET', KEYS[5], conversation) == ARGV[1] then redis.call('HDEL', KEYS[5], conversation) end
redis.call('UNLINK', KEYS[2], KEYS[6], KEYS[8], KEYS[11], KEYS[12])
for i = 14, values do redis.call('UNLINK', KEYS[i]) end
for i = values + 1, #KEYS do
  if redis.call('HINCRBY', KEYS[i], 'sessions', -1) <= 0 then redis.call('UNLINK', KEYS[i]) end
end
redis.call('ZREM', KEYS[9], ARGV[1])
for _, call in ipairs(redis.call('ZRANGE', KEYS[13], 0, -1)) do
  if string.sub(call, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
    redis.call('UNLINK', ARGV[4] .. call)
    redis.call('ZREM', KEYS[13], call)
  end
end
redis.call('XADD', KEYS[10], 'MAXLEN', '~', 100, '*', 's', ARGV[1])
return {'ok', ''}

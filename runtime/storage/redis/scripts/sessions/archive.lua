-- Takes away the facts of a session that an archive has, or changes nothing. KEYS 1 session  2 awake  3 outbox  4 timers
--      5 tapes  6 forks  7 snapshot  8 anchors  9 the session's values
--      10.. its tapes, first those of its own, then those of early facts, the same ones; then its large values
-- ARGV 1 session id  2 the number of its last fact  3 how many tapes it has  4 what is noted of it
-- Returns "ok", "gone", or "busy": it is at work or waits for a time, has other facts by now, or another session goes
-- on from it.
local known = redis.call('HMGET', KEYS[1], 'seq', 'archived')
if not known[1] then return 'gone' end
if known[2] then return 'ok' end
local tapes = tonumber(ARGV[3])
local values = 9 + 2 * tapes
if known[1] ~= ARGV[2] or redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 or redis.call('ZSCORE', KEYS[4], ARGV[1])
  or redis.call('EXISTS', KEYS[6]) == 1
  or redis.call('SCARD', KEYS[5]) ~= tapes or redis.call('SCARD', KEYS[9]) ~= #KEYS - values then
  return 'busy'
end
for _, member in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local readable, page = pcall(cjson.decode, member)
  if readable and type(page) == 'table' and page[1] == ARGV[1] then return 'busy' end
end
redis.call('UNLINK', KEYS[5], KEYS[7], KEYS[8], KEYS[9])
for i = 10, values do redis.call('UNLINK', KEYS[i]) end
for i = values + 1, #KEYS do
  if redis.call('HINCRBY', KEYS[i], 'sessions', -1) <= 0 then redis.call('UNLINK', KEYS[i]) end
end
redis.call('HSET', KEYS[1], 'archived', ARGV[4])
redis.call('HDEL', KEYS[1], 'parent', 'parent_seq', 'early')
return 'ok'

-- Makes a session whose tapes are written the conversation's. KEYS 1 session  2 awake  3 outbox  4 current  5 sessions
-- ARGV 1 this attempt's own mark  2 session id  3 conversation  4 address  5 program  6 started_at  7 seq
--      8 ended ("1", "0")  9 awake ("1", "")  10 time of its last fact, ms since the epoch  11.. pages
-- Returns {"ok"|"exists"|"taken", the session that the conversation has or ""}.
local digest = redis.call('HGET', KEYS[1], 'digest')
if digest then return {digest == ARGV[1] and 'ok' or 'exists', ''} end
local current = redis.call('HGET', KEYS[4], ARGV[3])
if ARGV[8] == '0' and current then return {'taken', current} end
redis.call('HSET', KEYS[1], 'conversation', ARGV[3], 'address', ARGV[4], 'program', ARGV[5], 'started_at', ARGV[6],
  'seq', ARGV[7], 'ended', ARGV[8], 'digest', ARGV[1], 'anchors', '1', 'taken_in', ARGV[1])
redis.call('ZADD', KEYS[5], ARGV[10], ARGV[2])
if ARGV[8] == '0' then redis.call('HSET', KEYS[4], ARGV[3], ARGV[2]) end
if ARGV[9] == '1' then redis.call('SADD', KEYS[2], ARGV[2]) end
for i = 11, #ARGV do redis.call('SADD', KEYS[3], ARGV[i]) end
return {'ok', ''}

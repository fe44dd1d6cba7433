-- Lets a timer bring a session back (or, without a time, a restart), or changes nothing.
-- KEYS 1 lease  2 session  3 awake  4 timers   ARGV 1 token  2 session id  3 the seq of its last fact  4 due, or ""
-- Returns {"ok"|"lease"|"moved", the number found}.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
local seq = redis.call('HGET', KEYS[2], 'seq')
if seq ~= ARGV[3] or redis.call('HGET', KEYS[2], 'ended') == '1' then return {'moved', tonumber(seq or '0')} end
-- Also when it is repeated: a replica that has this write has the first attempt's too.
redis.call('HSET', KEYS[2], 'sleeps_until', ARGV[4])
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[4], ARGV[2])
  redis.call('SADD', KEYS[3], ARGV[2])
else
  redis.call('ZADD', KEYS[4], ARGV[4], ARGV[2])
  redis.call('SREM', KEYS[3], ARGV[2])
end
return {'ok', tonumber(seq)}

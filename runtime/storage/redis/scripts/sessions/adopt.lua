-- Makes a session whole by itself, when its early facts are written. KEYS 1 session  2 tapes
-- ARGV 1 the parent that it does without from now on  2.. tapes with early facts   Returns 1, or 0 when it has another.
if redis.call('HGET', KEYS[1], 'parent') ~= ARGV[1] then return 0 end
for i = 2, #ARGV do redis.call('SADD', KEYS[2], ARGV[i]) end
redis.call('HDEL', KEYS[1], 'parent', 'parent_seq')
redis.call('HSET', KEYS[1], 'early', '1')
return 1

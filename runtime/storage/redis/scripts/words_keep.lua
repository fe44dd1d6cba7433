-- Keeps what was said, once. KEYS 1 what is kept of the conversation  2 this message
-- ARGV 1 its id  2 what was said  3 for how long (ms)  4 the most of a conversation  5 the beginning of messages' keys
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
redis.call('ZADD', KEYS[1], tonumber(last or 0) + 1, ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
redis.call('HSET', KEYS[2], 'text', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -ARGV[4] - 1)) do
  redis.call('UNLINK', ARGV[5] .. id)
  redis.call('ZREM', KEYS[1], id)
end
return 1

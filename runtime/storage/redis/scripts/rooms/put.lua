-- Adds a message once. KEYS 1 messages  2 counters  3 seqs  4 versions  5 rooms
-- ARGV 1 message id  2 message  3 room  4 time in microseconds  5 bound   Returns the message as it is kept.
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept then return kept end
local message = cjson.decode(ARGV[2])
message.seq = redis.call('HINCRBY', KEYS[2], 'seq', 1)
message.version = redis.call('HINCRBY', KEYS[2], 'version', 1)
kept = cjson.encode(message)
redis.call('HSET', KEYS[1], ARGV[1], kept)
redis.call('ZADD', KEYS[3], message.seq, ARGV[1])
redis.call('ZADD', KEYS[4], message.version, ARGV[1])
redis.call('ZADD', KEYS[5], ARGV[4], ARGV[3])
local excess = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[5])
if excess > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, excess - 1)) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[3], id)
    redis.call('ZREM', KEYS[4], id)
  end
end
return kept

-- Counts a file as the latest one. KEYS 1 order  2 sizes  3 total
-- ARGV 1 file id  2 size in bytes  3 bound in bytes   Returns the ids of the files that must go, the oldest first.
local known = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('INCRBY', KEYS[3], tonumber(ARGV[2]) - known)
local newest = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], (tonumber(newest[2]) or 0) + 1, ARGV[1])
local left, gone = tonumber(redis.call('GET', KEYS[3])), {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -2)) do
  if left <= tonumber(ARGV[3]) then break end
  left = left - tonumber(redis.call('HGET', KEYS[2], id) or '0')
  gone[#gone + 1] = id
end
return gone

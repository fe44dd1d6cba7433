-- KEYS 1 lease   ARGV 1 node  2 token  3 duration in ms, 0 to release   Returns 1, or 0 when the lease is not ours.
local held = redis.call('HMGET', KEYS[1], 'node', 'token')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = ARGV[3] == '0' and '0' or string.format('%.0f', now + ARGV[3])
redis.call('HSET', KEYS[1], 'expires', expires)
return 1

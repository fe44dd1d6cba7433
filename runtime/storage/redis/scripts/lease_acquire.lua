-- KEYS 1 lease   ARGV 1 node  2 duration in ms   Returns the new token, or 0 while another node holds the lease.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'node', 'expires')
if held[1] and held[1] ~= ARGV[1] and tonumber(held[2]) > now then return 0 end
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'expires', string.format('%.0f', now + ARGV[2]))
return redis.call('HINCRBY', KEYS[1], 'token', 1)

-- KEYS 1 lease   ARGV 1 node  2 duration in ms   Returns the new token, or 0 while another node holds the lease.
-- A token is the time in microseconds, and greater than the last: one that a failing server forgot never comes again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'node', 'expires', 'token')
if held[1] and held[1] ~= ARGV[1] and tonumber(held[2]) > now then return 0 end
local token = string.format('%.0f', math.max((tonumber(held[3]) or 0) + 1, time[1] * 1000000 + time[2]))
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'expires', string.format('%.0f', now + ARGV[2]), 'token', token)
return tonumber(token)

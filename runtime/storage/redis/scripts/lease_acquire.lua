-- KEYS 1 lease   ARGV 1 node  2 duration in ms  3… nodes that live   Returns the new token, or 0 while another node
-- holds the lease. One that lives holds it until it is released: that it has run out may be due to a clock put forward.
-- Nobody's lease ends later than it lasts: one that seems to was taken before the clock was set back, and is shortened.
-- A token is the time in microseconds, and greater than the last: one that a failing server forgot never comes again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'node', 'expires', 'token', 'lasts')
if held[1] and held[1] ~= ARGV[1] and tonumber(held[2]) > now then
  local lasts = tonumber(held[4] or ARGV[2])
  if tonumber(held[2]) - now > lasts then redis.call('HSET', KEYS[1], 'expires', string.format('%.0f', now + lasts)) end
  return 0
end
if held[1] and held[1] ~= ARGV[1] and held[2] ~= '0' then
  for i = 3, #ARGV do
    if ARGV[i] == held[1] then return 0 end
  end
end
local token = string.format('%.0f', math.max((tonumber(held[3]) or 0) + 1, time[1] * 1000000 + time[2]))
local expires = string.format('%.0f', now + ARGV[2])
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'expires', expires, 'token', token, 'lasts', ARGV[2])
return tonumber(token)

-- Takes letters out of a mailbox. KEYS 1 mail  2 seen: letter -> 0 while it is there, then when it is forgotten (s)
--      ARGV 1 seconds to remember  2… entry id and letter id of each
local now = tonumber(redis.call('TIME')[1])
for i = 2, #ARGV, 2 do
  redis.call('XDEL', KEYS[1], ARGV[i])
  redis.call('ZADD', KEYS[2], now + ARGV[1], ARGV[i + 1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '(0', now)
return 'ok'

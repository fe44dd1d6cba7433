-- Adds to a sum once.   KEYS 1 sum  2 mark of this addition   ARGV 1 amount  2 seconds that both live
-- Returns the sum.
if redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[2]) then
  redis.call('INCRBYFLOAT', KEYS[1], ARGV[1])
  if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
end
return redis.call('GET', KEYS[1]) or '0'

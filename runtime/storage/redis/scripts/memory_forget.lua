-- Forgets memories, for good: who still wants to keep one of them is refused. KEYS 1 the scope's memories  2 their vectors
-- ARGV 1 for how long that is known (s)  then ids. Returns how many there were.
local time, count = redis.call('TIME'), 0
for i = 2, #ARGV do
  local number = redis.call('HGET', KEYS[1], 'id:' .. ARGV[i])
  if number then
    redis.call('HDEL', KEYS[1], number, 'id:' .. ARGV[i])
    count = count + 1
  end
  redis.call('HDEL', KEYS[2], ARGV[i])
  redis.call('HSET', KEYS[1], 'gone:' .. ARGV[i], time[1])
end
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 5) == 'gone:' and tonumber(fields[i + 1]) < tonumber(time[1]) - tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], fields[i])
  end
end
redis.call('HSET', KEYS[1], 'version', time[1] .. '.' .. time[2])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1] * 1000) end
return count

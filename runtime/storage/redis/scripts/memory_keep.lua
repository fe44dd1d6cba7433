-- Keeps a memory once. KEYS 1 the scope's memories
-- ARGV 1 its id  2 memory  3 for how long (ms). Returns its number; 0 where it was forgotten.
if redis.call('HEXISTS', KEYS[1], 'gone:' .. ARGV[1]) == 1 then return 0 end
local number = redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])
if number then
  -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
  redis.call('HSET', KEYS[1], 'id:' .. ARGV[1], number)
  return tonumber(number)
end
number = redis.call('HINCRBY', KEYS[1], 'last', 1)
redis.call('HSET', KEYS[1], number, ARGV[2], 'id:' .. ARGV[1], number, 'version', ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return number

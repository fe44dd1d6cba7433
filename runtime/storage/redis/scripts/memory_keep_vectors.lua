-- Keeps the vectors of memories that are kept, as long as those are. KEYS 1 the scope's memories  2 their vectors
-- ARGV pairs of a memory's id and its vector
for i = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], 'id:' .. ARGV[i]) == 1 then redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
end
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('PEXPIRE', KEYS[2], left) end

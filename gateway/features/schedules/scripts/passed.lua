-- Ends a schedule's time that was dealt with. KEYS 1 the conversation's schedules  2 the shard's schedule times
-- ARGV 1 number  2 conversation  3 the time that was due  4 the next one, or ""
-- Returns 0 where it was set to another time, or removed, meanwhile.
local member = ARGV[1] .. ' ' .. ARGV[2]
local due = redis.call('ZSCORE', KEYS[2], member)
if not due or tonumber(due) ~= tonumber(ARGV[3]) then return 0 end
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[2], ARGV[4], member)
else
  redis.call('ZREM', KEYS[2], member)
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return 1

-- Sets a conversation's time zone. KEYS 1 lease  2 the conversation's schedules  3 the shard's schedule times
-- ARGV 1 token  2 zone  3 conversation  then number and due of each schedule whose time changes by it
-- Returns {"ok", 0} or {"lease", the token found}.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
redis.call('HSET', KEYS[2], 'zone', ARGV[2])
for i = 4, #ARGV, 2 do
  redis.call('ZADD', KEYS[3], 'XX', ARGV[i + 1], ARGV[i] .. ' ' .. ARGV[3])
end
return {'ok', 0}

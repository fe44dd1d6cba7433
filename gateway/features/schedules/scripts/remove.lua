-- Forgets a schedule. KEYS 1 lease  2 the conversation's schedules  3 the shard's schedule times
-- ARGV 1 token  2 number  3 conversation. Returns {"ok", how many it was} or {"lease", the token found}.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
redis.call('ZREM', KEYS[3], ARGV[2] .. ' ' .. ARGV[3])
return {'ok', redis.call('HDEL', KEYS[2], ARGV[2])}

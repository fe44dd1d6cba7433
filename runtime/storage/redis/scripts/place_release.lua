-- Forgets what a place was opened for. KEYS 1 table   ARGV 1 the place's key  2 the session that it must belong to
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if not kept then return 0 end
local readable, held = pcall(cjson.decode, kept)
if readable and held['session'] ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])

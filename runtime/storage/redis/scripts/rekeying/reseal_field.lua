-- Writes a field anew, unless somebody else has written it since. KEYS 1 hash   ARGV 1 field  2 as it was  3 as it is to be
-- Returns 1 when it is there as it is to be.
local found = redis.call('HGET', KEYS[1], ARGV[1])
if found == ARGV[2] then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return (found == ARGV[2] or found == ARGV[3]) and 1 or 0

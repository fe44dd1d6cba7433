-- Takes a timer away that is due. KEYS 1 timers   ARGV 1 session id  2 the time by which it is due
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if due and tonumber(due) <= tonumber(ARGV[2]) then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0

-- Notes a change of a notebook. KEYS 1 all notebooks  2 the notebook   ARGV 1 name   Returns 0 where there is none.
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], math.max(now, (redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) + 1), ARGV[1])
return 1

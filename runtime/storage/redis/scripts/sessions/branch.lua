-- Notes that a session is to go on from another. KEYS 1 that other session  2 its forks
-- ARGV 1 the new session  2 the new one's shard  3 the last fact it takes over   Returns {"ok"|"gone", the last fact}.
local seq = tonumber(redis.call('HGET', KEYS[1], 'seq') or '0')
if seq < tonumber(ARGV[3]) or redis.call('EXISTS', KEYS[1]) == 0
  or redis.call('HEXISTS', KEYS[1], 'archived') == 1 then return {'gone', seq} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[2], ARGV[1], cjson.encode({tonumber(ARGV[2]), now}))
return {'ok', seq}

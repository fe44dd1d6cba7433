-- Keeps a call of a model, of a session that there is. KEYS 1 session  2 the shard's calls  3 this call
-- ARGV 1 its name  2 the call  3 for how long (ms)  4 the most calls  5 the most bytes  6 the beginning of calls' keys
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local time = redis.call('TIME')
local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(last or 0) + 1)
redis.call('HSET', KEYS[3], 'text', ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local calls, bytes = 0, 0
local all = redis.call('ZREVRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  calls, bytes = calls + 1, bytes + tonumber(string.match(all[i], '%d+$'))
  if calls > tonumber(ARGV[4]) or bytes > tonumber(ARGV[5]) or all[i + 1] + ARGV[3] <= now then
    redis.call('UNLINK', ARGV[6] .. all[i])
    redis.call('ZREM', KEYS[2], all[i])
  end
end
return 1

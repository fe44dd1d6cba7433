-- Keeps a call of a model, of a session that there is. KEYS 1 session  2 the shard's calls  3 this call
-- ARGV 1 its name  2 the call  3 for how long (ms)  4 the beginning of calls' keys
--      5 the most calls  6 the most bytes  7 and 8 the same for those that failed: a 1 before the bytes in their names
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local time = redis.call('TIME')
local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(last or 0) + 1)
redis.call('HSET', KEYS[3], 'text', ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local found = { [false] = { 0, 0, 5 }, [true] = { 0, 0, 7 } }
local all = redis.call('ZREVRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local sums = found[string.match(all[i], ' 1 %d+$') ~= nil]
  sums[1], sums[2] = sums[1] + 1, sums[2] + tonumber(string.match(all[i], '%d+$'))
  local most, bytes = tonumber(ARGV[sums[3]]), tonumber(ARGV[sums[3] + 1])
  if sums[1] > most or sums[2] > bytes or all[i + 1] + ARGV[3] <= now then
    redis.call('UNLINK', ARGV[4] .. all[i])
    redis.call('ZREM', KEYS[2], all[i])
  end
end
return 1

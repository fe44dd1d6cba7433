-- Makes a notebook that goes on from another. KEYS 1 notebook  2 its branches  3 all notebooks  4 news
-- ARGV 1 name  2 this attempt's own mark  3 the other one  4 the last entry that is taken over  5 what is taken over
-- Returns "ok", "known" (it is there, and was made so) or "exists".
local row = redis.call('HMGET', KEYS[1], 'created', 'mark', 'origin:0', 'parent')
if row[1] then
  redis.call('HSET', KEYS[1], 'created', row[1]) -- so that who waits for a replica waits for it
  if row[2] == ARGV[2] then return 'ok' end
  return row[3] == ARGV[5] and row[4] == ARGV[3] and 'known' or 'exists'
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'head', ARGV[4], 'last', 0, 'branch', 0, 'off', ARGV[4], 'at', ARGV[4], 'parent', ARGV[3],
  'origin:0', ARGV[5], 'mark', ARGV[2], 'created', now)
redis.call('HSET', KEYS[2], 0, string.format('%s %s - -', ARGV[4], ARGV[4]))
redis.call('ZADD', KEYS[3], math.max(now, (redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0) + 1), ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', '100', '*', 's', ARGV[1])
return 'ok'

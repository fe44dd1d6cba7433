-- Deletes a notebook. KEYS 1 all notebooks  2 the notebook  3 its branches  4 entries  5 anchors  6 news
-- ARGV 1 name  2 the time of its last change   Returns 1, or 0 where it has changed since, or is gone.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then return 0 end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[6], 'MAXLEN', '~', '100', '*', 's', ARGV[1])
return 1

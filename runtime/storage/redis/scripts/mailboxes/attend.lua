-- Somebody reads a mailbox from now on. KEYS 1 reader  2 readers, the latest   ARGV 1 the connection
-- Returns the id of the latest news. A repetition is no news.
local known = redis.call('GET', KEYS[1]) == ARGV[1]
redis.call('SET', KEYS[1], ARGV[1])
if not known then redis.call('XADD', KEYS[2], 'MAXLEN', '~', '100', '*', 'c', ARGV[1]) end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', '1')
return last[1] and last[1][1] or '0-0'

-- Puts a letter into a mailbox once. KEYS 1 mail  2 seen  3 seat   ARGV 1 letter id  2 bound  3 letter  4 seat  5 seconds
--      that the seat is known
-- Returns "added", "known" or "full". An attempt that is repeated because its answer was lost is told "known".
-- Written again each time, so that who waits for a replica waits for what an earlier attempt wrote.
redis.call('SET', KEYS[3], ARGV[4], 'EX', ARGV[5])
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 'known' end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 'full' end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('XADD', KEYS[1], '*', 'l', ARGV[3])
return 'added'

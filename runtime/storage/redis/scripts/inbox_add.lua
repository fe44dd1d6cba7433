-- Takes an event in once. KEYS 1 seen  2 inbox   ARGV 1 this attempt's own mark  2 seconds to remember  3 bound  4 event
-- Returns "added", "known" or "full". An attempt that is repeated because its answer was lost is told "added" again.
local seen = redis.call('GET', KEYS[1])
if seen then
  -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  return seen == ARGV[1] and 'added' or 'known'
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return 'full' end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'e', ARGV[4])
return 'added'

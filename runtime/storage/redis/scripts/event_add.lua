-- Takes a client's event once. KEYS 1 seen  2 events  3 what was cut off of them
-- ARGV 1 this attempt's own mark  2 how long it is remembered and kept (ms)  3 how many are kept  4 type  5 source  6 id  7 event
-- Returns "added" or "known". An attempt that is repeated because its answer was lost is told "added" again.
local seen = redis.call('GET', KEYS[1])
if seen then
  -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return seen == ARGV[1] and 'added' or 'known'
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'y', ARGV[4], 's', ARGV[5], 'i', ARGV[6], 'e', ARGV[7])
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local over = redis.call('XLEN', KEYS[2]) - tonumber(ARGV[3])
for i, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 2)) do
  if i > over and tonumber(entry[1]:match('^%d+')) >= oldest then break end
  redis.call('XDEL', KEYS[2], entry[1])
  redis.call('SET', KEYS[3], entry[1])
end
return 'added'

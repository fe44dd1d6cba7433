-- Takes events of one client, each once. KEYS 1 events  2 what was cut off of them  3.. seen, one for each event
-- ARGV 1 this attempt's own mark  2 how long they are remembered and kept (ms)  3 how many are kept
--      then for each event: type, source, id, event
-- Returns how many are new. An attempt that is repeated because its answer was lost is told the same again.
local new = 0
for i = 3, #KEYS do
  local seen, mark, at = redis.call('GET', KEYS[i]), ARGV[1] .. i, 4 * (i - 2)
  if seen then
    -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
    if seen == mark then new = new + 1 end
  else
    new = new + 1
    redis.call('SET', KEYS[i], mark, 'PX', ARGV[2])
    redis.call('XADD', KEYS[1], '*', 'y', ARGV[at], 's', ARGV[at + 1], 'i', ARGV[at + 2], 'e', ARGV[at + 3])
  end
end
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local over = redis.call('XLEN', KEYS[1]) - tonumber(ARGV[3])
for i, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 2 * (#KEYS - 2))) do
  if i > over and tonumber(entry[1]:match('^%d+')) >= oldest then break end
  redis.call('XDEL', KEYS[1], entry[1])
  redis.call('SET', KEYS[2], entry[1])
end
return new

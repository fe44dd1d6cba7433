-- Takes an event in once. KEYS 1 seen  2 inbox   ARGV 1 this attempt's own mark  2 seconds to remember  3 bound  4 event
--      5 conversation  6 how many of a conversation may wait, or ""  7 how many of the newest entries are looked at
--      8 the program that the event may begin  9 a digest of the person  10 how many of a person may wait, or ""
-- Returns "added", "known", "full", "crowded" or "share". An attempt that is repeated because its answer was lost is told "added" again.
local seen = redis.call('GET', KEYS[1])
if seen then
  -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  return string.sub(seen, 1, #ARGV[1]) == ARGV[1] and 'added' or 'known'
end
local length = redis.call('XLEN', KEYS[2])
if length >= tonumber(ARGV[3]) then return 'full' end
local of_conversation, of_person = tonumber(ARGV[6]) or math.huge, tonumber(ARGV[10]) or math.huge
if length >= math.min(of_conversation, of_person) then
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', ARGV[7])) do
    if entry[2][4] == ARGV[5] then of_conversation = of_conversation - 1 end
    if entry[2][6] == ARGV[9] then of_person = of_person - 1 end
  end
  if of_conversation <= 0 then return 'crowded' end
  if of_person <= 0 then return 'share' end
end
local entry = redis.call('XADD', KEYS[2], '*', 'e', ARGV[4], 'c', ARGV[5], 'p', ARGV[9])
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. entry .. ' ' .. ARGV[8], 'EX', ARGV[2])
return 'added'

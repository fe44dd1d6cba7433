-- Puts a dead letter back into the inbox, or forgets it. KEYS 1 dead  2 settled  3 inbox  4 seen
-- ARGV 1 this attempt's own mark  2 letter  3 "replay" or "drop"  4 bound of the inbox  5 seconds that an event is known  6 the program that it may begin
-- Returns "done", "full" or "gone". An attempt that is repeated because its answer was lost is told "done" again.
local letter = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
if not letter then return redis.call('GET', KEYS[2]) == ARGV[1] and 'done' or 'gone' end
if ARGV[3] == 'replay' then
  if redis.call('XLEN', KEYS[3]) >= tonumber(ARGV[4]) then return 'full' end
  local event = nil
  for i = 1, #letter[2], 2 do
    if letter[2][i] == 'e' then event = letter[2][i + 1] end
  end
  local entry = redis.call('XADD', KEYS[3], '*', 'e', event)
  redis.call('SET', KEYS[4], ARGV[1] .. ' ' .. entry .. ' ' .. ARGV[6], 'EX', ARGV[5])
end
redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[1], 'EX', 60)
return 'done'

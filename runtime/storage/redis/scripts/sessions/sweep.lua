-- Removes what there is beside the record of a session that has none. KEYS 1 session  2 its tapes  3 snapshot  4 anchors
--      5 the session's values
--      6.. its tapes, first those of its own, then those of early facts, the same ones; then its large values
-- ARGV 1 how many tapes it has   Returns 1, or 0 when it has other tapes or large values by now.
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
local tapes = tonumber(ARGV[1])
local values = 5 + 2 * tapes
if redis.call('SCARD', KEYS[2]) ~= tapes or redis.call('SCARD', KEYS[5]) ~= #KEYS - values then return 0 end
for i = 2, values do redis.call('UNLINK', KEYS[i]) end
for i = values + 1, #KEYS do
  if redis.call('HINCRBY', KEYS[i], 'sessions', -1) <= 0 then redis.call('UNLINK', KEYS[i]) end
end
return 1

-- Writes facts of a session that is taken in; those that are there already are left. KEYS 1.. tapes
-- ARGV facts, five items each: number of the key, seq, kind, time, data   Returns how many there are now.
for i = 1, #ARGV, 5 do
  local tape, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1] .. '-0'
  if #redis.call('XRANGE', tape, id, id) == 0 then
    redis.call('XADD', tape, id, 'k', ARGV[i + 2], 't', ARGV[i + 3], 'd', ARGV[i + 4])
  end
end
return #ARGV / 5

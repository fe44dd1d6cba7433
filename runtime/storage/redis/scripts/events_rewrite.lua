-- Writes events of a stream anew; all entries keep their ids, and so their places. KEYS 1 stream
-- ARGV ids of entries and their events, JSON, by turns   Returns how many of them there were.
local anew, changed = {}, 0
for i = 1, #ARGV, 2 do anew[ARGV[i]] = ARGV[i + 1] end
local entries = redis.call('XRANGE', KEYS[1], '-', '+')
for _, entry in ipairs(entries) do
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'e' and anew[entry[1]] then
      entry[2][i + 1] = anew[entry[1]]
      changed = changed + 1
    end
  end
end
if changed == 0 then return 0 end
local last, told = nil, redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #told, 2 do
  if told[i] == 'last-generated-id' then last = told[i + 1] end
end
redis.call('DEL', KEYS[1])
for _, entry in ipairs(entries) do redis.call('XADD', KEYS[1], entry[1], unpack(entry[2])) end
redis.call('XSETID', KEYS[1], last)
return changed

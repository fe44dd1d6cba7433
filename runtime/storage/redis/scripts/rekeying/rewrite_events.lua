-- Writes fields of a stream's entries anew; all entries keep their ids, and so their places. KEYS 1 stream
-- ARGV ids of entries, names of fields that they have, and values, by turns   Returns how many fields there were.
local anew, changed = {}, 0
for i = 1, #ARGV, 3 do
  anew[ARGV[i]] = anew[ARGV[i]] or {}
  anew[ARGV[i]][ARGV[i + 1]] = ARGV[i + 2]
end
local entries = redis.call('XRANGE', KEYS[1], '-', '+')
for _, entry in ipairs(entries) do
  for i = 1, #entry[2], 2 do
    local value = anew[entry[1]] and anew[entry[1]][entry[2][i]]
    if value then
      entry[2][i + 1] = value
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

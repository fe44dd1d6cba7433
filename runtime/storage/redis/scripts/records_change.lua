-- Changes fields of a table together, or none. KEYS 1 table
-- ARGV for each field: 1 name  2 what it should be now  3 what it is to be ('=' and the text; '' for nothing)
-- Returns 1 when it is done, also when it was done before, and 0 when some field is something else.
local function now(name)
  local kept = redis.call('HGET', KEYS[1], name)
  return kept and ('=' .. kept) or ''
end
local expected, done = true, true
for at = 1, #ARGV, 3 do
  local kept = now(ARGV[at])
  expected = expected and kept == ARGV[at + 1]
  done = done and kept == ARGV[at + 2]
end
if not expected then return done and 1 or 0 end
for at = 1, #ARGV, 3 do
  if ARGV[at + 2] == '' then
    redis.call('HDEL', KEYS[1], ARGV[at])
  else
    redis.call('HSET', KEYS[1], ARGV[at], string.sub(ARGV[at + 2], 2))
  end
end
return 1

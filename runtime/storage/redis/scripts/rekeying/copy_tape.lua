-- Adds facts to the copy of a tape that is to take its place; those it has are left. KEYS 1 tape  2 copy
-- ARGV 1 seconds after which a copy that nobody goes on with is gone  2.. entries: id, number of parts, fields and values
-- Returns 1, or 0 when the tape is gone: then the copy is, too.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('UNLINK', KEYS[2])
  return 0
end
local newest, last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1], 0
if newest then last = tonumber(string.match(newest[1], '^%d+')) end
local position = 2
while position <= #ARGV do
  local id, parts = ARGV[position], tonumber(ARGV[position + 1])
  if tonumber(string.match(id, '^%d+')) > last then
    redis.call('XADD', KEYS[2], id, unpack(ARGV, position + 2, position + 1 + parts))
  end
  position = position + 2 + parts
end
redis.call('EXPIRE', KEYS[2], ARGV[1])
return 1

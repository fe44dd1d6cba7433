-- Keeps a snapshot of a session, or changes nothing. The one in whose place it comes stays as one of the earlier ones,
-- where there is none of the last facts before it. KEYS 1 lease  2 session  3 snapshot
-- ARGV 1 token  2 seq  3 version  4 text
--      5 the mark of the insertion by which the session came here, "-" for none, or "" where that is not asked
--      6 at least how many facts lie between earlier ones  7 how many bytes of one there may be for each of these facts
-- Returns {"ok"|"lease"|"old", the number found}; "old" also for a session that is in the archive or was taken in anew.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
local known = redis.call('HMGET', KEYS[2], 'seq', 'archived', 'taken_in')
local seq = tonumber(known[1] or '0')
local kept = redis.call('HMGET', KEYS[3], 'seq', 'version')
if seq < tonumber(ARGV[2]) or known[2] or (ARGV[5] ~= '' and (known[3] or '-') ~= ARGV[5])
  or (kept[2] == ARGV[3] and tonumber(kept[1]) >= tonumber(ARGV[2])) then return {'old', seq} end
if kept[2] ~= ARGV[3] then
  redis.call('UNLINK', KEYS[3])
else
  local facts = tonumber(kept[1]) - tonumber(redis.call('HGET', KEYS[3], 'earlier') or '0')
  local bytes = redis.call('HSTRLEN', KEYS[3], 'text')
  if facts >= tonumber(ARGV[6]) and facts * tonumber(ARGV[7]) >= bytes then
    redis.call('HSET', KEYS[3], 'earlier', kept[1], 'text:' .. kept[1], redis.call('HGET', KEYS[3], 'text'))
  end
end
redis.call('HSET', KEYS[3], 'seq', ARGV[2], 'version', ARGV[3], 'text', ARGV[4])
return {'ok', seq}

-- Keeps a snapshot of a session, or changes nothing. KEYS 1 lease  2 session  3 snapshot
-- ARGV 1 token  2 seq  3 version  4 text
-- Returns {"ok"|"lease"|"old", the number found}; "old" also for a session that is in the archive.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
local seq = tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')
local kept = redis.call('HMGET', KEYS[3], 'seq', 'version')
if seq < tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[2], 'archived') == 1
  or (kept[2] == ARGV[3] and tonumber(kept[1]) >= tonumber(ARGV[2])) then return {'old', seq} end
redis.call('HSET', KEYS[3], 'seq', ARGV[2], 'version', ARGV[3], 'text', ARGV[4])
return {'ok', seq}

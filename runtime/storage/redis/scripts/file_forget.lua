-- A file's content is gone. KEYS 1 order  2 sizes  3 total  4 entries  5 accounts  6 account totals  7 last
-- 8 owners  9 owned  10 owned entries   ARGV 1 file id
local size = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
redis.call('DECRBY', KEYS[3], size)
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
local entry = redis.call('HGET', KEYS[4], ARGV[1])
if entry then
  local account = string.match(entry, '^([^\1]*)\1')
  redis.call('ZREM', KEYS[5], entry)
  redis.call('HDEL', KEYS[4], ARGV[1])
  if redis.call('HINCRBY', KEYS[6], account, -size) <= 0 then redis.call('HDEL', KEYS[6], account) end
end
local owned = redis.call('HGET', KEYS[10], ARGV[1])
if owned then
  local owner = string.match(owned, '^([^\1]*)\1')
  redis.call('ZREM', KEYS[9], owned)
  redis.call('HDEL', KEYS[10], ARGV[1])
  if tonumber(redis.call('ZINCRBY', KEYS[8], -size, owner)) <= 0 then redis.call('ZREM', KEYS[8], owner) end
end
return 1

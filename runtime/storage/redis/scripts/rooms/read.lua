-- KEYS 1 messages  2 seqs or versions   ARGV 1 from  2 to (score bounds)  3 limit  4 "newest" or "oldest" first
local ids
if ARGV[4] == 'newest' then
  ids = redis.call('ZRANGE', KEYS[2], ARGV[2], ARGV[1], 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[3])
else
  ids = redis.call('ZRANGE', KEYS[2], ARGV[1], ARGV[2], 'BYSCORE', 'LIMIT', 0, ARGV[3])
end
local messages = {}
for i, id in ipairs(ids) do messages[i] = redis.call('HGET', KEYS[1], id) end
return messages

-- Takes messages out of a room, and what points at them. KEYS 1 messages  2 counters  3 seqs  4 versions  5 rooms
-- ARGV 1 room  2 person whose messages and reactions go, or ""  3.. ids of messages that go
-- Returns how many messages were taken out or changed.
local kept, gone, names, changed = {}, {}, {}, 0
for i = 3, #ARGV do gone[ARGV[i]] = true end
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local message = cjson.decode(all[i + 1])
  if gone[all[i]] or (ARGV[2] ~= '' and message.author_id == ARGV[2]) then
    gone[all[i]] = true
    if message.author_id == ARGV[2] then names[message.author_name] = true end
    redis.call('HDEL', KEYS[1], all[i])
    redis.call('ZREM', KEYS[3], all[i])
    redis.call('ZREM', KEYS[4], all[i])
    changed = changed + 1
  else
    kept[all[i]] = message
  end
end
for id, message in pairs(kept) do
  local quote, reactions = message.quote, message.reactions
  local quotes = type(quote) == 'table' and gone[quote[1]]
  local reacts = ARGV[2] ~= '' and type(reactions) == 'table' and reactions[ARGV[2]]
  local addressed = type(message.to) == 'string' and names[message.to]
  if quotes then message.quote = nil end
  if addressed then message.to = nil end
  if reacts then reactions[ARGV[2]] = nil end
  if quotes or reacts or addressed then
    message.version = redis.call('HINCRBY', KEYS[2], 'version', 1)
    redis.call('HSET', KEYS[1], id, cjson.encode(message))
    redis.call('ZADD', KEYS[4], message.version, id)
    changed = changed + 1
  end
end
if redis.call('HLEN', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[5], ARGV[1])
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
end
return changed

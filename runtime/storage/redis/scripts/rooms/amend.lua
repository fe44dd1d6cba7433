-- KEYS 1 messages  2 counters  3 versions   ARGV 1 message id  2 fields to set  3 who reacts or ""  4 reaction or ""
-- Returns the message as it is kept, or nothing when the room does not have it.
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if not kept then return false end
local message, changed = cjson.decode(kept), false
local function set(holder, key, value)
  if cjson.encode({holder[key]}) == cjson.encode({value}) then return end
  holder[key] = value
  changed = true
end
local fields = cjson.decode(ARGV[2])
for key, value in pairs(fields) do set(message, key, value) end
if fields.text and not fields.sealed_text then message.sealed_text = nil end
if ARGV[3] ~= '' then
  message.reactions = message.reactions or {}
  local reaction = nil
  if ARGV[4] ~= '' then reaction = cjson.decode(ARGV[4]) end
  set(message.reactions, ARGV[3], reaction)
end
if not changed then return kept end
message.version = redis.call('HINCRBY', KEYS[2], 'version', 1)
kept = cjson.encode(message)
redis.call('HSET', KEYS[1], ARGV[1], kept)
redis.call('ZADD', KEYS[3], message.version, ARGV[1])
return kept

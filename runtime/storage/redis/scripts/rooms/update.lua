-- KEYS 1 messages  2 counters  3 versions   ARGV 1 message id  2 text, or ""  3 text sealed, or ""  4 final ("1", "0")
-- Returns the message as it is kept, or nothing when the room does not have it or it was deleted.
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if not kept then return false end
local message, final = cjson.decode(kept), ARGV[4] == '1'
if message.deleted then return false end
if message.text == ARGV[2] and (message.sealed_text or '') == ARGV[3] and message.final == final then return kept end
message.text, message.final = ARGV[2], final
message.sealed_text = ARGV[3] ~= '' and ARGV[3] or nil
message.version = redis.call('HINCRBY', KEYS[2], 'version', 1)
kept = cjson.encode(message)
redis.call('HSET', KEYS[1], ARGV[1], kept)
redis.call('ZADD', KEYS[3], message.version, ARGV[1])
return kept

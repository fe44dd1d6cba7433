-- Keeps a schedule once. KEYS 1 lease  2 the conversation's schedules  3 the shard's schedule times
-- ARGV 1 token  2 the event's id  3 event  4 due  5 how many there may be  6 conversation
-- Returns {"ok", its number}, {"full", how many there are} or {"lease", the token found}.
local token = redis.call('HGET', KEYS[1], 'token')
if token ~= ARGV[1] then return {'lease', tonumber(token or '0')} end
local count, fields = 0, redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  if tonumber(fields[i]) then
    count = count + 1
    local readable, event = pcall(cjson.decode, fields[i + 1])
    if readable and event['id'] == ARGV[2] then
      -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
      redis.call('HSET', KEYS[2], fields[i], fields[i + 1])
      return {'ok', tonumber(fields[i])}
    end
  end
end
if count >= tonumber(ARGV[5]) then return {'full', count} end
local number = redis.call('HINCRBY', KEYS[2], 'last', 1)
redis.call('HSET', KEYS[2], number, ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[4], number .. ' ' .. ARGV[6])
return {'ok', number}

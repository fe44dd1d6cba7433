-- Keeps a report, or counts a failure to the one that is alike. KEYS 1 reports  2 numbers by fingerprint
-- ARGV 1 fingerprint  2 report  3 which failure it is  4 its time  5 how many are kept. Returns the report that is kept.
local number = redis.call('HGET', KEYS[2], ARGV[1])
local kept = number and redis.call('HGET', KEYS[1], number)
if kept then
  local report = cjson.decode(kept)
  if report['mark'] ~= ARGV[3] then
    report['count'], report['mark'], report['last_s'] = report['count'] + 1, ARGV[3], tonumber(ARGV[4])
    kept = cjson.encode(report)
  end
  redis.call('HSET', KEYS[1], number, kept)
  return kept
end
number = redis.call('HINCRBY', KEYS[2], 'last', 1)
local report = cjson.decode(ARGV[2])
report['number'] = number
kept = cjson.encode(report)
redis.call('HSET', KEYS[1], number, kept)
redis.call('HSET', KEYS[2], ARGV[1], number)
local oldest = tostring(number - tonumber(ARGV[5]))
if redis.call('HDEL', KEYS[1], oldest) == 1 then
  local fields = redis.call('HGETALL', KEYS[2])
  for i = 1, #fields, 2 do
    if fields[i] ~= 'last' and fields[i + 1] == oldest then redis.call('HDEL', KEYS[2], fields[i]) end
  end
end
return kept

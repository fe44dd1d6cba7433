-- Changes one value of a report. KEYS 1 reports  ARGV 1 number  2 name  3 value, JSON. Returns 0 where it is gone.
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if not kept then return 0 end
local report = cjson.decode(kept)
report[ARGV[2]] = cjson.decode(ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(report))
return 1

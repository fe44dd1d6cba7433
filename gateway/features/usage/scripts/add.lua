-- Adds to the sums of a day.   KEYS 1 hash   ARGV 1 seconds that it lives  2 the most fields
--   3 the field's beginning  4 its beginning without the person, for a day with too many  5… pairs of measure and amount
local begins = ARGV[3]
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) and redis.call('HEXISTS', KEYS[1], begins .. ARGV[5]) == 0 then
  begins = ARGV[4]
end
for i = 5, #ARGV, 2 do
  redis.call('HINCRBYFLOAT', KEYS[1], begins .. ARGV[i], ARGV[i + 1])
end
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end

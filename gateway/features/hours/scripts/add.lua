-- Adds to the sums of an hour.   KEYS 1 hash   ARGV 1 seconds that it lives  2… pairs of measure and amount
for i = 2, #ARGV, 2 do redis.call('HINCRBYFLOAT', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])

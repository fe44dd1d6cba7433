-- KEYS 1 nodes  2 their news   ARGV 1 the node that leaves, or "" when a lease was given back  2 duration in ms
-- That a node has left stays known for this long, as a negative time: else its absence could be due to a clock.
if ARGV[1] ~= '' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', KEYS[1], ARGV[1], string.format('-%.0f', now + ARGV[2]))
end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', '100', '*', 'node', ARGV[1])

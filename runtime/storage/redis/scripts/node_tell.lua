-- KEYS 1 nodes  2 their news   ARGV 1 the node that leaves, or "" when a lease was given back
if ARGV[1] ~= '' then redis.call('HDEL', KEYS[1], ARGV[1]) end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', '100', '*', 'node', ARGV[1])

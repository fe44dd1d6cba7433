-- Makes a session live again whose facts are written. KEYS 1 session   Returns 1, or 0 when it is not in the archive.
if redis.call('HDEL', KEYS[1], 'archived') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'anchors', '1')
return 1

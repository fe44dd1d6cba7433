-- Puts the copy of a tape in its place, if it has every fact of it. KEYS 1 tape  2 copy
-- Returns "ok", "grown" (the tape has more) or "gone" (there is no tape, or no copy).
if redis.call('EXISTS', KEYS[1], KEYS[2]) < 2 then return 'gone' end
if redis.call('XLEN', KEYS[1]) ~= redis.call('XLEN', KEYS[2]) then return 'grown' end
if redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1][1]
  ~= redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1][1] then return 'grown' end
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('PERSIST', KEYS[1])
return 'ok'

-- Moves an entry to the dead letters, or takes it out for good where no reason is given. KEYS 1 lease  2 inbox  3 dead
-- ARGV 1 token  2 entry id  3 event  4 reason  5 bound  6 a digest of the person  7 how many letters of a person are kept, or ""
--      8 how many of the newest letters are looked at
-- Beyond the share of a person, their oldest letter goes. Returns 1, or 0 for a stale token.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if redis.call('XDEL', KEYS[2], ARGV[2]) == 1 and ARGV[4] ~= '' then
  local left = tonumber(ARGV[7])
  if left and redis.call('XLEN', KEYS[3]) >= left then
    for _, letter in ipairs(redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', ARGV[8])) do
      if letter[2][8] == ARGV[6] then
        left = left - 1
        if left <= 0 then redis.call('XDEL', KEYS[3], letter[1]) end
      end
    end
  end
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'e', ARGV[3], 'id', ARGV[2], 'reason', ARGV[4], 'p', ARGV[6])
end
return 1

-- Moves an entry to the dead letters, or takes it out for good where no reason is given. KEYS 1 lease  2 inbox  3 dead   ARGV 1 token  2 entry id  3 event  4 reason  5 bound
-- Returns 1, or 0 for a stale token.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if redis.call('XDEL', KEYS[2], ARGV[2]) == 1 and ARGV[4] ~= '' then
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'e', ARGV[3], 'id', ARGV[2], 'reason', ARGV[4])
end
return 1

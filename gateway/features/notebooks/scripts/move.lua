-- Moves a notebook's head back, or onto another one's: a new branch begins there, and the one that is left keeps its
-- entries. KEYS 1 notebook  2 its branches  3 all notebooks  4 news
-- ARGV 1 name  2 this attempt's own mark  3 the entry that is to be the last  4 expected head, or ""  5 bound of branches
--      6 what is taken over from the other one, or ""
-- Returns {"ok", current branch}, or {"gone"|"head"|"beyond"|"full", head} when nothing was changed.
local row = redis.call('HMGET', KEYS[1], 'head', 'last', 'branch', 'moved')
if not row[1] then return {'gone', 0} end
local head, last, branch, to = tonumber(row[1]), tonumber(row[2]), tonumber(row[3]), tonumber(ARGV[3])
if row[4] == ARGV[2] then
  redis.call('HSET', KEYS[1], 'moved', ARGV[2]) -- so that who waits for a replica waits for it
  return {'ok', branch}
end
if ARGV[4] ~= '' and tonumber(ARGV[4]) ~= head then return {'head', head} end
if ARGV[6] == '' and to > head then return {'beyond', head} end
if ARGV[6] == '' and to == head then return {'ok', branch} end
local new, off = redis.call('HLEN', KEYS[2]), to - last
if new > tonumber(ARGV[5]) then return {'full', head} end
local left = redis.call('HGET', KEYS[2], branch)
redis.call('HSET', KEYS[2], branch, string.format('%s %d', left:match('^(.*) %S+$'), head))
redis.call('HSET', KEYS[2], new, string.format('%d %d %s -', to, off, ARGV[6] == '' and branch or '-'))
redis.call('HSET', KEYS[1], 'head', to, 'branch', new, 'off', off, 'moved', ARGV[2])
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'at', to, 'origin:' .. new, ARGV[6]) end
local time = redis.call('TIME')
local change = math.max(
  time[1] * 1000 + math.floor(time[2] / 1000), (redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0) + 1)
redis.call('ZADD', KEYS[3], change, ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', '100', '*', 's', ARGV[1])
return {'ok', new}

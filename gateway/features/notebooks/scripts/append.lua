-- Appends entries to a notebook, which the first ones make. KEYS 1 notebook  2 its branches  3 entries  4 anchors
--      5 key of this append  6 all notebooks  7 news
-- ARGV 1 name  2 this attempt's own mark  3 how long the key is remembered (ms)  4 expected head, or ""  5 bound
--      6 field for what is merged, or ""  7 what it has to be  8 what it is then, with the head after it
--      then for each entry: 1 for an anchor, kind, line, 1 for a raw one, mark
-- Returns {"ok"|"known", first, last}, or {"head"|"merged"|"full", head} when nothing was written. An attempt that is
-- repeated because its answer was lost is told the same again.
local known = redis.call('GET', KEYS[5])
if known then
  local first, last, mark = known:match('^(%d+) (%d+) (.+)$')
  -- Written again, so that who waits for a replica waits for it: nobody may have waited for the first time.
  redis.call('PEXPIRE', KEYS[5], ARGV[3])
  return {mark == ARGV[2] and 'ok' or 'known', tonumber(first), tonumber(last)}
end
local row = redis.call('HMGET', KEYS[1], 'head', 'last', 'off')
local head, last, off = tonumber(row[1] or 0), tonumber(row[2] or 0), tonumber(row[3] or 0)
local count = (#ARGV - 8) / 5
if ARGV[4] ~= '' and tonumber(ARGV[4]) ~= head then return {'head', head} end
if ARGV[6] ~= '' and (redis.call('HGET', KEYS[1], ARGV[6]) or '') ~= ARGV[7] then return {'merged', head} end
if last + count > tonumber(ARGV[5]) then return {'full', head} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not row[1] then
  redis.call('HSET', KEYS[1], 'branch', 0, 'off', 0, 'at', 0, 'created', now)
  redis.call('HSET', KEYS[2], 0, '0 0 - -')
end
for i = 0, count - 1 do
  local at = 9 + 5 * i
  local fields = {'k', ARGV[at + 1], 'd', ARGV[at + 2]}
  if ARGV[at + 3] == '1' then
    fields[5], fields[6] = 'r', '1'
  end
  if ARGV[at + 4] ~= '' then
    fields[#fields + 1], fields[#fields + 2] = 'm', ARGV[at + 4]
  end
  last = last + 1
  redis.call('XADD', KEYS[3], string.format('%d-0', last), unpack(fields))
  if ARGV[at] == '1' then redis.call('ZADD', KEYS[4], last, last) end
end
local first = head + 1
head = last + off
redis.call('HSET', KEYS[1], 'head', head, 'last', last)
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], ARGV[6], string.format('%s %d', ARGV[8], head)) end
redis.call('ZADD', KEYS[6], math.max(now, (redis.call('ZSCORE', KEYS[6], ARGV[1]) or 0) + 1), ARGV[1])
redis.call('XADD', KEYS[7], 'MAXLEN', '~', '100', '*', 's', ARGV[1])
redis.call('SET', KEYS[5], string.format('%d %d %s', first, head, ARGV[2]), 'PX', ARGV[3])
return {'ok', first, head}

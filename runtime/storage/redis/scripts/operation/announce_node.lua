-- KEYS 1 nodes  2 their news   ARGV 1 node, or "" for a look only  2 duration in ms
-- Returns the id of the latest news, then every living node and how many ms it is still taken to live, and every node
-- that has left lately with 0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.call('HGETALL', KEYS[1])
local living, known = {}, ARGV[1] == ''
for i = 1, #fields, 2 do
  local until_ms = tonumber(fields[i + 1])
  local left, gone = math.abs(until_ms) - now, until_ms < 0
  if ARGV[1] ~= '' and not gone and left > tonumber(ARGV[2]) then  -- the clock was set back
    left = tonumber(ARGV[2])
    redis.call('HSET', KEYS[1], fields[i], string.format('%.0f', now + left))
  end
  if left <= 0 then
    redis.call('HDEL', KEYS[1], fields[i])
  elseif gone then
    if fields[i] ~= ARGV[1] then
      table.insert(living, fields[i])
      table.insert(living, '0')
    end
  elseif fields[i] == ARGV[1] then
    known = true
  else
    table.insert(living, fields[i])
    table.insert(living, string.format('%.0f', left))
  end
end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[2]))
  table.insert(living, ARGV[1])
  table.insert(living, ARGV[2])
end
if not known then redis.call('XADD', KEYS[2], 'MAXLEN', '~', '100', '*', 'node', ARGV[1]) end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', '1')
return {last[1] and last[1][1] or '0-0', unpack(living)}

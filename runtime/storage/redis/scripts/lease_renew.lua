-- KEYS 1 lease  2 the shard's inbox, if it is a shard's
-- ARGV 1 node  2 token  3 duration in ms, 0 to release  4 commits of the shard  5 6 last entry of its inbox: ms, number
-- Returns 1, or 0 when the lease is not ours, or the server has forgotten some of those commits or entries.
local held = redis.call('HMGET', KEYS[1], 'node', 'token', 'commits')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then return 0 end
if tonumber(held[3] or '0') < tonumber(ARGV[4]) then return 0 end
if ARGV[5] ~= '0' then
  local ms, number = '0', '0'
  if redis.call('EXISTS', KEYS[2]) == 1 then
    local stream = redis.call('XINFO', 'STREAM', KEYS[2])
    for i = 1, #stream, 2 do
      if stream[i] == 'last-generated-id' then ms, number = string.match(stream[i + 1], '^(%d+)-(%d+)$') end
    end
  end
  if tonumber(ms) < tonumber(ARGV[5]) then return 0 end
  if ms == ARGV[5] and tonumber(number) < tonumber(ARGV[6]) then return 0 end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = ARGV[3] == '0' and '0' or string.format('%.0f', now + ARGV[3])
redis.call('HSET', KEYS[1], 'expires', expires)
return 1

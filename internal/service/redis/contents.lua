-- KEYS[1] is written, unless it is empty, so that the replication stream shows when this was. The answer has
-- for each other key what it holds, a string or a list of fields and values, and its PTTL;
-- or nothing.
if KEYS[1] ~= '' then
  redis.call('SET', KEYS[1], '', 'PX', 1000)
end
local found = {}
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i])['ok']
  if kind == 'string' then
    found[i - 1] = {redis.call('GET', KEYS[i]), redis.call('PTTL', KEYS[i])}
  elseif kind == 'hash' then
    found[i - 1] = {redis.call('HGETALL', KEYS[i]), redis.call('PTTL', KEYS[i])}
  else
    found[i - 1] = false
  end
end
return found

-- A fenced write: KEYS are the mark and the value, ARGV the token and what to
-- write. Tokens are decimal strings without leading zeros, which are compared as
-- such: as numbers Lua would confuse neighbours above 2^53.
local mark, token = redis.call('GET', KEYS[1]), ARGV[1]
if mark ~= token then
  if mark and (#token < #mark or #token == #mark and token < mark) then
    return redis.error_reply('STALE ' .. mark)
  end
  redis.call('SET', KEYS[1], token)
end
for i = 2, #KEYS do
  redis.call('SET', KEYS[i], ARGV[i])
end
return redis.status_reply('OK')

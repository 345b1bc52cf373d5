-- Ends a reader's lease, and wakes those who wait where it would have ended last: until
-- then they sleep.
--
-- KEYS and ARGV as those of free.lua. Returns whether the call ended it, be it in an earlier
-- run, whose answer was lost.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = redis.call('ZREVRANGE', KEYS[3], 0, 0)[1]
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then
	return redis.call('HGET', KEYS[2], 'freed') == ARGV[4] and 1 or 0
end
redis.call('HSET', KEYS[2], 'freed', ARGV[4])
if last == ARGV[1] then
	redis.call('PUBLISH', ARGV[3], '')
end
return 1

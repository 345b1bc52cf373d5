-- Ends a reader's lease, and wakes those who wait where it would have ended last: until
-- then they sleep.
--
-- KEYS: lock, grants, readers. ARGV: owner, TTL, channel, name of the call.
--
-- Returns whether the call ended it, be it in an earlier run, whose answer was lost.

redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local last = redis.call('ZREVRANGE', KEYS[3], 0, 0)[1]
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then
	return redis.call('HGET', KEYS[2], 'freed') == ARGV[4] and 1 or 0
end
redis.call('HSET', KEYS[2], 'freed', ARGV[4])
if last == ARGV[1] then
	expire(KEYS[3])
	redis.call('PUBLISH', ARGV[3], '')
end
return 1

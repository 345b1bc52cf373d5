-- Frees a lock that is held alone, and wakes those who wait.
--
-- KEYS: lock, grants. ARGV: owner, TTL, channel, name of the call.
--
-- Returns whether the call freed it, be it in an earlier run, whose answer was lost.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return redis.call('HGET', KEYS[2], 'freed') == ARGV[4] and 1 or 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'freed', ARGV[4])
redis.call('PUBLISH', ARGV[3], '')
return 1

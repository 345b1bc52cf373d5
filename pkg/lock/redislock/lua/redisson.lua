-- Takes a lock as Redisson's RLock and RFencedLock do: a hash at the lock's name, with the
-- owner and how often it has the lock.
--
-- KEYS: lock, latch, channel, and the counter of a fenced lock. ARGV: owner, TTL in ms.
--
-- Returns {1, token}, or {0, ms until the holder's lease ends}.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	if redis.call('EXISTS', KEYS[1]) == 1 then
		return {0, redis.call('PTTL', KEYS[1])}
	end
	local freed = redis.call('GET', KEYS[2])
	if freed and string.sub(freed, 1, #ARGV[1]) == ARGV[1] then
		return {0, 0}
	end
	if KEYS[4] then
		redis.call('INCR', KEYS[4])
	end
	redis.call('HSET', KEYS[1], ARGV[1], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, KEYS[4] and redis.call('GET', KEYS[4]) or 0}

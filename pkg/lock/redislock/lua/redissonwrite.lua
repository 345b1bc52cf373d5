-- Takes a lock as the writer of Redisson's RReadWriteLock does: its hash says the mode.
--
-- KEYS: lock, latch. ARGV: owner, TTL in ms. Returns {1, 0}, or {0, ms until the holders'
-- leases end}.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	if redis.call('EXISTS', KEYS[1]) == 1 then
		return {0, redis.call('PTTL', KEYS[1])}
	end
	local freed = redis.call('GET', KEYS[2])
	if freed and string.sub(freed, 1, #ARGV[1]) == ARGV[1] then
		return {0, 0}
	end
	redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[1], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, 0}

-- Takes a lock as Redisson's RLock, RFencedLock and RReadWriteLock's writer do: a hash at the
-- lock's name, with the owner and how often it has the lock.
--
-- KEYS: lock, latch, and the counter of a fenced lock. ARGV: owner, TTL in ms, channel, name
-- of the call, mode, message; then other fields of the hash, and what they have.
--
-- Returns the token, or 0 where there is none, or {ms until the holders' leases end}.

if redis.call('EXISTS', KEYS[1]) == 0 then
	if late(redis.call('GET', KEYS[2]), ARGV[1]) then
		return {0} -- the request comes after its tenure
	end
	-- The counter comes first: where it cannot be raised, nothing is done.
	if KEYS[3] then
		redis.call('INCR', KEYS[3])
	end
	redis.call('HSET', KEYS[1], ARGV[1], 1, unpack(ARGV, 7))
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return {redis.call('PTTL', KEYS[1])}
end
return KEYS[3] and redis.call('GET', KEYS[3]) or 0

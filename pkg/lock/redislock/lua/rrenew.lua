-- Renews a reader's lease, and never begins it again.
--
-- KEYS: lock, grants, readers. ARGV: owner, TTL in ms. Returns whether the lock is the
-- owner's. The other readers' leases are as they were.

local ends = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not ends or tonumber(ends) <= now then
	return 0
end
-- A write that needs no memory comes first: a script that has written may add, even where
-- Redis' memory is full. A writer's renewal needs none, either.
redis.call('PERSIST', KEYS[3])
redis.call('ZADD', KEYS[3], now + lease(ends - now), ARGV[1])
expire(KEYS[3])
return 1

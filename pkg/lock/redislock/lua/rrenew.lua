-- Renews a reader's lease, and never begins it again.
--
-- KEYS: lock, grants, readers. ARGV: owner, TTL in ms. Returns whether the lock is the
-- owner's. The other readers' leases are as they were.

local ends = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not ends or tonumber(ends) <= now then
	return 0
end
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
expire(KEYS[3])
return 1

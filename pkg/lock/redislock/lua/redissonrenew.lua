-- Renews a lock of Redisson's, and never takes it again.
--
-- KEYS: lock. ARGV: owner, TTL in ms. Returns whether the lock is the owner's.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
return redis.call('PEXPIRE', KEYS[1], lease(redis.call('PTTL', KEYS[1])))

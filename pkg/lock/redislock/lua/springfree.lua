-- Frees a lock of a RedisLockRegistry, and tells those who listen.
--
-- KEYS: lock. ARGV: owner, TTL in ms, channel. Returns whether it was the owner's.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], KEYS[1])
return 1

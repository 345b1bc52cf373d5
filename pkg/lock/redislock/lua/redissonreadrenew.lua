-- Renews the lease of a reader of Redisson's, and never begins it again. Unlike the
-- original it makes no other reader's lease shorter.
--
-- KEYS: lock, latch, name, the reader's key. ARGV: owner, TTL in ms. Returns whether the
-- lock is the owner's.

local left = redis.call('PTTL', KEYS[4])
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 or redis.call('PEXPIRE', KEYS[4], lease(left)) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(lease(left))))
return 1

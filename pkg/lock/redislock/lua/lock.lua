-- Takes a lock alone.
--
-- KEYS: lock, grants, readers. ARGV: owner, TTL in ms.
--
-- Returns the token, or {ms until the holders' leases end}. It is the same where the
-- answer of an earlier run was lost: the lock is the owner's, and the token the one it got.

if redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then
	if redis.call('GET', KEYS[1]) == ARGV[1] then
		return redis.call('HGET', KEYS[2], 'token') or 'no token'
	end
	return {math.max(redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[3]))}
end
if late(redis.call('HGET', KEYS[2], 'freed'), ARGV[1]) then
	return {0} -- the request comes after its tenure
end
-- The counter comes first: where it cannot be raised, nothing is done.
local token = count()
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return token

-- Takes a lock shared.
--
-- KEYS: lock, grants, readers. ARGV: owner, TTL in ms.
--
-- Returns the token, or {ms until the writer's lease ends}. Where the answer of an
-- earlier run was lost, the reader gets a new token, which is as good: it is the highest.

if redis.call('EXISTS', KEYS[1]) == 1 then
	return {redis.call('PTTL', KEYS[1])}
end
if late(redis.call('HGET', KEYS[2], 'freed'), ARGV[1]) then
	return {0} -- the request comes after its tenure
end
-- The counter comes first: where it cannot be raised, nothing is done.
local token = count()
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
expire(KEYS[3])
return token

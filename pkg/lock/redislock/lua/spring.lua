-- Takes a lock as Spring Integration's RedisLockRegistry does: a string with the UUID of
-- the registry.
--
-- KEYS: lock. ARGV: owner, TTL in ms. Returns 0, or {ms until the holder's lease
-- ends}.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
	return {redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0

-- Takes a lock as a reader of Redisson's RReadWriteLock does: beside the hash, each reader
-- has a key that lives as long as its lease, and the hash lives as long as the longest.
--
-- KEYS: lock, latch, name, the reader's key. ARGV: owner, TTL in ms. Returns 0, or {ms until the
-- writer's lease ends}.

local mode = redis.call('HGET', KEYS[1], 'mode')
if mode ~= 'read' and redis.call('EXISTS', KEYS[1]) == 1 then
	return {redis.call('PTTL', KEYS[1])}
end
if late(redis.call('GET', KEYS[2]), ARGV[1]) then
	return {0}
end
redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], 1)
redis.call('SET', KEYS[4], 1, 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])))
return 0

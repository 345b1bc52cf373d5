-- Frees a lock of Redisson's that is held alone, and wakes those who wait.
--
-- KEYS: lock, latch. ARGV: owner, TTL in ms, channel, name of the call, mode, message.
--
-- Returns whether the call freed it, be it in an earlier run, whose answer was lost: the
-- latch has the name of the last call that did.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return redis.call('GET', KEYS[2]) == ARGV[4] and 1 or 0
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[6])
return 1

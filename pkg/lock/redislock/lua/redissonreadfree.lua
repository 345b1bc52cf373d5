-- Ends the lease of a reader of Redisson's, and wakes those who wait. The hash lives as long
-- as the longest lease that is left.
--
-- KEYS: lock, latch, name, the reader's key. ARGV: owner, TTL in ms, channel, name of the call,
-- mode, message.
--
-- Returns whether the call ended it, be it in an earlier run, whose answer was lost.

local ended = redis.call('DEL', KEYS[4])
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
	return redis.call('GET', KEYS[2]) == ARGV[4] and 1 or 0
end
local left = 0
for _, owner in ipairs(redis.call('HKEYS', KEYS[1])) do
	local count = tonumber(redis.call('HGET', KEYS[1], owner)) or 0 -- none for "mode"
	for n = 1, count do
		left = math.max(left, redis.call('PTTL', KEYS[3] .. ':' .. owner .. ':rwlock_timeout:' .. n))
	end
end
if left > 0 then
	redis.call('PEXPIRE', KEYS[1], left)
else
	redis.call('DEL', KEYS[1])
end
redis.call('PUBLISH', ARGV[3], ARGV[6]) -- also where readers are left, whose leases may end before this one's
if ended == 1 then
	redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[2])
end
return ended

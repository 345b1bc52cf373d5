-- Tells who holds one of the locks of a RReadWriteLock of Redisson's.
--
-- KEYS: lock, latch, name. A writer's owner ends with ":write". A reader has a key for each
-- time that it took the lock.
--
-- Returns {holders, waiters}, as inspect.lua does.

local holders = {}
for _, owner in ipairs(redis.call('HKEYS', KEYS[1])) do
	if string.sub(owner, -6) == ':write' then
		table.insert(holders, {owner, 'exclusive', 0, redis.call('PTTL', KEYS[1])})
	elseif owner ~= 'mode' then
		local left = 0
		for n = 1, tonumber(redis.call('HGET', KEYS[1], owner)) do
			left = math.max(left, redis.call('PTTL', KEYS[3] .. ':' .. owner .. ':rwlock_timeout:' .. n))
		end
		table.insert(holders, {owner, 'shared', 0, left})
	end
end
return {holders, {}}

-- Tells who holds a lock of Redisson's, and who waits in the queue of a fair one.
--
-- KEYS: lock, latch, the counter of a fenced lock, the queue of a fair one.
--
-- Returns {holders, waiters}, as inspect.lua does.

local holders, waiters = {}, {}
for _, owner in ipairs(redis.call('HKEYS', KEYS[1])) do
	table.insert(holders, {owner, 'exclusive', KEYS[3] and redis.call('GET', KEYS[3]) or 0, redis.call('PTTL', KEYS[1])})
end
for _, owner in ipairs(KEYS[4] and redis.call('LRANGE', KEYS[4], 0, -1) or {}) do
	table.insert(waiters, {owner, 'exclusive', 0, 0})
end
return {holders, waiters}

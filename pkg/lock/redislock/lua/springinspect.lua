-- Tells who holds a lock that is a string with its owner.
--
-- KEYS: lock. Returns {holders, waiters}, as inspect.lua does.

local owner = redis.call('GET', KEYS[1])
return {owner and {{owner, 'exclusive', 0, redis.call('PTTL', KEYS[1])}} or {}, {}}

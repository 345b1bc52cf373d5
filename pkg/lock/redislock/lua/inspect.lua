-- Tells who holds a lock, and who waits for it.
--
-- KEYS: lock, grants, readers, and the queue and the places of a fair lock.
--
-- Returns {holders, waiters}. Each of them is {owner, mode, token or 0, ms until the lease ends}.

local holders, waiters = {}, {}
local writer = redis.call('GET', KEYS[1])
if writer then
	holders[1] = {writer, 'exclusive', redis.call('HGET', KEYS[2], 'token') or 0, redis.call('PTTL', KEYS[1])}
end
local readers = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. now, '+inf', 'WITHSCORES')
for i = 1, #readers, 2 do
	table.insert(holders, {readers[i], 'shared', 0, readers[i + 1] - now})
end
for _, place in ipairs(KEYS[4] and redis.call('LRANGE', KEYS[4], 0, -1) or {}) do
	if tonumber(redis.call('ZSCORE', KEYS[5], place) or now) > now then
		local mode, owner = string.match(place, '(%a+):(.*)')
		table.insert(waiters, {owner, mode, 0, 0})
	end
end
return {holders, waiters}

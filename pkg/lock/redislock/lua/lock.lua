-- Takes a lock alone.
--
-- KEYS: lock, grants, readers, queue, places. ARGV: owner, TTL in ms.
--
-- Returns {1, token}, or {0, ms until the holders' leases end}. It is the same where the
-- answer of an earlier run was lost: the lock is the owner's, and the token the one it got.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
	return {0, redis.call('PTTL', KEYS[1])}
end
if not holder then
	local last = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
	if last[1] then
		local time = redis.call('TIME')
		local left = tonumber(last[2]) - (time[1] * 1000 + math.floor(time[2] / 1000))
		if left > 0 then
			return {0, left}
		end
	end
	local freed = redis.call('HGET', KEYS[2], 'freed')
	if freed and string.sub(freed, 1, #ARGV[1]) == ARGV[1] then
		return {0, 0}
	end
	-- The counter comes first: where it cannot be raised, nothing is done.
	redis.call('HINCRBY', KEYS[2], 'token', 1)
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return {1, redis.call('HGET', KEYS[2], 'token')}

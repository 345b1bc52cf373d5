-- Begins scripts that give out a token.
--
-- KEYS: lock, grants. ARGV: …, "clock" in the sixth place where a token is no lower than the
-- time, in microseconds since 1970.

local function count()
	if ARGV[6] == 'clock' then
		local time = redis.call('TIME')
		local now = time[1] * 1000000 + time[2]
		local last = redis.call('HGET', KEYS[2], 'token')
		if not last or tonumber(last) < now then
			return redis.call('HSET', KEYS[2], 'token', string.format('%.0f', now))
		end
	end
	redis.call('HINCRBY', KEYS[2], 'token', 1)
end

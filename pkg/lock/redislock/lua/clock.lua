-- Begins scripts that give out a token which is no lower than the time, in microseconds since
-- 1970, after count.lua.

local next = count

local function count()
	local time = redis.call('TIME')
	local now = time[1] * 1000000 + time[2]
	local last = redis.call('HGET', KEYS[2], 'token')
	if last and tonumber(last) >= now then
		return next()
	end
	redis.call('HSET', KEYS[2], 'token', string.format('%.0f', now))
	return now
end

-- Begins scripts about what ends one by one, such as the leases of readers: a sorted set has
-- when each ends, by Redis's clock, and the set itself ends with the last.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Sets the end of a set, whose members have changed.
local function expire(key)
	local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
	if last then
		redis.call('PEXPIREAT', key, last)
	end
	return last
end

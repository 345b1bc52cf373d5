-- Begins the scripts of a fair lock, after ends.lua.
--
-- KEYS: lock, grants, readers, queue, places. The queue has "exclusive:OWNER" and
-- "shared:OWNER", in the order in which they came; places has when each times out, unless
-- its waiter asks again.
--
-- ARGV: owner, TTL in ms, channel, name of the call, mode.

local owner, mode = ARGV[1], ARGV[5]
local own = mode .. ':' .. owner

local function leave(place)
	redis.call('LREM', KEYS[4], 0, place)
	redis.call('ZREM', KEYS[5], place)
end

for _, place in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now)) do
	leave(place)
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)

local function free(place)
	if redis.call('EXISTS', KEYS[1]) == 1 then
		return false
	end
	return string.sub(place, 1, 1) == 's' or redis.call('EXISTS', KEYS[3]) == 0
end

-- Wakes the first of the queue where it is its turn, or where the lease that it waits for
-- ends earlier; those without a place where there is no queue.
local function wake(earlier)
	local first = redis.call('LINDEX', KEYS[4], 0) or ':'
	if first ~= own and (earlier or free(first)) then
		redis.call('PUBLISH', ARGV[3], string.match(first, ':(.*)'))
	end
end

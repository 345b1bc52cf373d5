-- Begins the scripts of a lock as Redisson's fair one.
--
-- KEYS: lock, latch, channel, queue, timeouts. The queue is of owners; timeouts has when the
-- place of each is gone: a wait for each place before it and its own after the lease of the
-- holder, so that each grant moves all of them by a wait. Places go from the head alone.
--
-- ARGV: owner, TTL in ms, the owner's channel, name of the call, mode, wait in ms.

local owner, wait = ARGV[1], tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local first = redis.call('LINDEX', KEYS[4], 0)
while first and tonumber(redis.call('ZSCORE', KEYS[5], first) or now + 1) <= now do
	redis.call('LPOP', KEYS[4])
	redis.call('ZREM', KEYS[5], first)
	first = redis.call('LINDEX', KEYS[4], 0)
end

local function place(of)
	for n, one in ipairs(redis.call('LRANGE', KEYS[4], 0, -1)) do
		if one == of then
			return n
		end
	end
end

-- Takes the owner out of the queue. Those behind it move up.
local function leave()
	local n = place(owner)
	if n then
		redis.call('LREM', KEYS[4], 0, owner)
		redis.call('ZREM', KEYS[5], owner)
		for _, one in ipairs(redis.call('LRANGE', KEYS[4], n - 1, -1)) do
			redis.call('ZINCRBY', KEYS[5], -wait, one)
		end
	end
end

local function wake()
	local first = redis.call('LINDEX', KEYS[4], 0)
	if first and first ~= owner and redis.call('EXISTS', KEYS[1]) == 0 then
		redis.call('PUBLISH', KEYS[3] .. ':' .. first, 0)
	end
end

-- Takes a lock as Redisson's fair one does. The name of the call is "true" where the owner
-- waits and is to have a place.
--
-- Returns 0, or {ms after which to ask again}.

if redis.call('HEXISTS', KEYS[1], owner) == 1 then
	return 0 -- an earlier run took it, and its answer was lost
end
if late(redis.call('GET', KEYS[2]), owner) then
	return {0}
end
if redis.call('EXISTS', KEYS[1]) == 0 and (not first or first == owner) then
	leave()
	redis.call('HSET', KEYS[1], owner, 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 0
end

local lease = math.max(redis.call('PTTL', KEYS[1]), 0)
if ARGV[4] == 'true' then
	local n = place(owner) or redis.call('RPUSH', KEYS[4], owner)
	-- Who waits for long moves the end of its place.
	local ends = math.max(tonumber(redis.call('ZSCORE', KEYS[5], owner) or 0), now + lease + wait * n)
	redis.call('ZADD', KEYS[5], ends, owner)
	first = redis.call('LINDEX', KEYS[4], 0)
end
wake()
local again = lease
if first and first ~= owner then
	again = tonumber(redis.call('ZSCORE', KEYS[5], first) or now) - now
end
return {again}

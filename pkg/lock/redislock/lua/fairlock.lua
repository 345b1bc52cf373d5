-- Takes a fair lock, alone or shared. The name of the call is "true" where the owner waits
-- and is to have a place.
--
-- Returns the token, or {ms after which to ask again}, by which a place is kept.

if redis.call('GET', KEYS[1]) == owner then
	return redis.call('HGET', KEYS[2], 'token') or 'no token' -- an earlier run took it, and its answer was lost
end
if late(redis.call('HGET', KEYS[2], 'freed'), owner) then
	return {0}
end

local turn, waits = true, false
for _, place in ipairs(redis.call('LRANGE', KEYS[4], 0, -1)) do
	if place == own then
		waits = true
		break
	end
	turn = turn and mode == 'shared' and string.sub(place, 1, 1) == 's'
end

if turn and free(own) then
	-- The counter comes first: where it cannot be raised, nothing is done.
	local token = count()
	if mode == 'shared' then
		redis.call('ZADD', KEYS[3], now + ARGV[2], owner)
		expire(KEYS[3])
	else
		redis.call('SET', KEYS[1], owner, 'PX', ARGV[2])
	end
	if waits then
		leave(own)
		wake() -- a reader behind a reader
	end
	return token
end

local again = ARGV[2] / 3
if ARGV[4] == 'true' then
	if not waits then
		redis.call('RPUSH', KEYS[4], own)
	end
	redis.call('ZADD', KEYS[5], now + ARGV[2], own)
	redis.call('PEXPIREAT', KEYS[4], expire(KEYS[5]))
	-- The first of the others that may be dead.
	again = math.min(again, redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2] - now)
end
if turn then
	local lease = math.max(redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[3]))
	if lease >= 0 then
		again = math.min(again, lease)
	end
end
wake() -- where the first one's holder died, or it was told and died
return {math.ceil(again)}

-- Ends a tenure of a fair lock, or takes back a place in its queue, and wakes whose turn it
-- is.
--
-- Returns whether the call ended the tenure, be it in an earlier run, whose answer was lost.

leave(own)
local last = redis.call('ZREVRANGE', KEYS[3], 0, 0)[1]
local ended = redis.call('ZREM', KEYS[3], owner)
if redis.call('GET', KEYS[1]) == owner then
	ended = redis.call('DEL', KEYS[1])
end
if ended == 1 then
	redis.call('HSET', KEYS[2], 'freed', ARGV[4])
elseif redis.call('HGET', KEYS[2], 'freed') == ARGV[4] then
	ended = 1
end
if last == owner then
	expire(KEYS[3])
end
wake(last == owner)
return ended

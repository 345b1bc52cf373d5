-- Frees a fair lock of Redisson's, or takes back a place in its queue, and wakes the first.
--
-- Returns whether the call freed the lock, be it in an earlier run, whose answer was lost.

leave()
local freed = 0
if redis.call('HEXISTS', KEYS[1], owner) == 1 then
	freed = redis.call('DEL', KEYS[1])
	redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[2])
elseif redis.call('GET', KEYS[2]) == ARGV[4] then
	freed = 1
end
wake()
return freed

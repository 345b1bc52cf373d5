-- Takes a lock as Redisson's RLock and RFencedLock do, once more if the owner has it: a hash
-- with how often the owner has the lock.
-- KEYS: lock, and the counter of a fenced lock. ARGV: owner, TTL in ms.
-- Returns the token, 0 without a counter, or nothing if the lock is another's.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return false
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return KEYS[2] and redis.call('INCR', KEYS[2]) or 0

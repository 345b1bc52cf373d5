-- Takes the lock KEYS[1] shared for ARGV[1], as readers of Redisson do, and gives all readers
-- ARGV[2] ms from now on. KEYS[2] lives as long as the reader's lease. 1 where no writer has
-- the lock, else 0.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'mode') ~= 'read' then
  return 0
end
redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], 1)
redis.call('SET', KEYS[2], 1, 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1

-- Takes the lock KEYS[1] for ARGV[1], for ARGV[2] ms. The answer is the token, which KEYS[2]
-- counts; nothing where the lock is not free.
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
return redis.call('INCR', KEYS[2])

-- Gives the lock KEYS[1] ARGV[2] ms from now on if it is ARGV[1]'s; 1 where it was, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0

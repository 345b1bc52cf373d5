-- Takes the lock KEYS[1] for ARGV[1], for ARGV[2] ms; 1 where it was free, else 0.
if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1

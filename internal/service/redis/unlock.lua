-- Deletes the lock KEYS[1] if it is ARGV[1]'s; 1 where it was, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0

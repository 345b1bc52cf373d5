-- Ends the part that the reader ARGV[1] has in the lock KEYS[1]; 1 where it had one, else 0.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if redis.call('HLEN', KEYS[1]) == 1 then -- the mode
  redis.call('DEL', KEYS[1])
end
return 1

-- Releases a lock once. KEYS: lock. ARGV: owner. Returns whether the owner had it.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('DEL', KEYS[1])
end
return 1

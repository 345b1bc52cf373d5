-- Takes a lock if it is free, with a token: KEYS are the lock and the counter of tokens, ARGV the value that the lock gets,
-- and its TTL in ms. The answer is the token, or 0.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0

-- Renews a lease by the least that it takes. KEYS: lock. ARGV: owner, TTL in ms.

return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2])

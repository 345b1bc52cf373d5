INSERT INTO :table (scope, owner, token, expires)
VALUES (:scope, :owner, 1, clock_timestamp() + CAST(:ttl AS bigint) * interval '1 millisecond')
ON CONFLICT (scope) DO NOTHING

-- The clock keeps the token from going back where the row is lost, or an older one comes back.
INSERT INTO fence_locks AS before (scope, owner, token, expires)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, clock_timestamp() + $3::bigint * interval '1 millisecond')
ON CONFLICT (scope) DO UPDATE
SET owner = EXCLUDED.owner, token = greatest(before.token + 1, EXCLUDED.token), expires = EXCLUDED.expires
WHERE before.owner = '' OR before.expires <= clock_timestamp()
RETURNING token

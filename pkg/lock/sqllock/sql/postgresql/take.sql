UPDATE :table
SET owner = :owner, token = token + 1, expires = clock_timestamp() + CAST(:ttl AS bigint) * interval '1 millisecond'
WHERE scope = :scope AND (owner = '' OR expires <= clock_timestamp())
RETURNING token

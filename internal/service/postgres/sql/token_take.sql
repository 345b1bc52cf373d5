-- Lock and token in one statement; the row is never deleted.
UPDATE token_lock
SET owner = $2, expires = clock_timestamp() + $3 * interval '1 second', token = token + 1
WHERE name = $1 AND (owner IS NULL OR expires <= clock_timestamp())
RETURNING token

-- Lock and token in one statement; the row is never deleted. LAST_INSERT_ID hands the token
-- to the client.
UPDATE token_lock
SET owner = $2, expires = SYSDATE(6) + INTERVAL $3 MICROSECOND, token = LAST_INSERT_ID(token + 1)
WHERE name = $1 AND (owner IS NULL OR expires <= SYSDATE(6))

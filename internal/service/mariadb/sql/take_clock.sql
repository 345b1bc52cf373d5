-- The clock keeps the token from going back where the row is lost, or an older one comes back. Each
-- assignment sees those before it.
INSERT INTO fence_locks (scope, owner, token, expires)
VALUES ($1, $2, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL 1000 * $3 MICROSECOND)
ON DUPLICATE KEY UPDATE
    token = IF(owner = '' OR expires <= UTC_TIMESTAMP(6), GREATEST(token + 1, VALUES(token)), token),
    owner = IF(owner = '' OR expires <= UTC_TIMESTAMP(6), VALUES(owner), owner),
    expires = IF(owner = VALUES(owner), VALUES(expires), expires)
RETURNING IF(owner = $2, token, NULL)

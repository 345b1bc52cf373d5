UPDATE :table
SET owner = :owner, token = LAST_INSERT_ID(token + 1), expires = UTC_TIMESTAMP(6) + INTERVAL 1000 * :ttl MICROSECOND
WHERE scope = :scope AND (owner = '' OR expires <= UTC_TIMESTAMP(6))

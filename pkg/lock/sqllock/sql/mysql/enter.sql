INSERT IGNORE INTO :table (scope, owner, token, expires)
VALUES (:scope, :owner, 1, UTC_TIMESTAMP(6) + INTERVAL 1000 * :ttl MICROSECOND)

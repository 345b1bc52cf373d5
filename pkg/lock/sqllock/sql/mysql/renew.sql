UPDATE :table
SET token = LAST_INSERT_ID(token), expires = UTC_TIMESTAMP(6) + INTERVAL 1000 * :ttl MICROSECOND
WHERE scope = :scope AND owner = :owner AND expires > UTC_TIMESTAMP(6)

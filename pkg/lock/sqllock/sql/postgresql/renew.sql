UPDATE :table
SET expires = clock_timestamp() + CAST(:ttl AS bigint) * interval '1 millisecond'
WHERE scope = :scope AND owner = :owner AND expires > clock_timestamp()

SELECT owner, token, CAST(CEIL(EXTRACT(EPOCH FROM expires - clock_timestamp()) * 1000) AS bigint)
FROM :table
WHERE scope = :scope AND owner <> '' AND expires > clock_timestamp()

SELECT owner, token, CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) / 1000)
FROM :table
WHERE scope = :scope AND owner <> '' AND expires > UTC_TIMESTAMP(6)

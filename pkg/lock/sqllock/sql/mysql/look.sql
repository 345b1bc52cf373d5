SELECT IF(owner = '', 0, CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) / 1000))
FROM :table
WHERE scope = :scope

SELECT CASE
	WHEN owner = '' THEN 0
	ELSE CAST(CEIL(EXTRACT(EPOCH FROM expires - clock_timestamp()) * 1000) AS bigint)
END
FROM :table
WHERE scope = :scope

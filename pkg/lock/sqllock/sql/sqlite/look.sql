SELECT CASE WHEN owner = '' THEN 0 ELSE expires - CAST(round(unixepoch('subsec') * 1000) AS integer) END
FROM :table
WHERE scope = :scope

UPDATE :table
SET expires = CAST(round(unixepoch('subsec') * 1000) AS integer) + :ttl + 1
WHERE scope = :scope AND owner = :owner AND expires > CAST(round(unixepoch('subsec') * 1000) AS integer)

UPDATE :table
SET expires = CAST(unixepoch('subsec') * 1000 AS integer) + :ttl
WHERE scope = :scope AND owner = :owner AND expires > CAST(unixepoch('subsec') * 1000 AS integer)
RETURNING token

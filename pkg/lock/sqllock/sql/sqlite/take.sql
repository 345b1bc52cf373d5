UPDATE :table
SET owner = :owner, token = token + 1, expires = CAST(unixepoch('subsec') * 1000 AS integer) + :ttl
WHERE scope = :scope AND (owner = '' OR expires <= CAST(unixepoch('subsec') * 1000 AS integer))
RETURNING token

UPDATE :table
SET owner = :owner, token = token + 1, expires = CAST(round(unixepoch('subsec') * 1000) AS integer) + :ttl + 1
WHERE scope = :scope AND (owner = '' OR expires <= CAST(round(unixepoch('subsec') * 1000) AS integer))
RETURNING token

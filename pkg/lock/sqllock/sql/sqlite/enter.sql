INSERT INTO :table (scope, owner, token, expires)
VALUES (:scope, :owner, 1, CAST(unixepoch('subsec') * 1000 AS integer) + :ttl)
ON CONFLICT (scope) DO NOTHING
RETURNING token

INSERT INTO :table (scope, owner, token, expires)
VALUES (:scope, :owner, 1, CAST(round(unixepoch('subsec') * 1000) AS integer) + :ttl + 1)
ON CONFLICT (scope) DO NOTHING

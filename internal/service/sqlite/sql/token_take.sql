-- Lock and token in one statement; the row is never deleted.
UPDATE token_lock
SET owner = ?2, expires = CAST(unixepoch('subsec') * 1000 AS integer) * 1000 + ?3, token = token + 1
WHERE name = ?1 AND (owner IS NULL OR expires <= CAST(unixepoch('subsec') * 1000 AS integer) * 1000)
RETURNING token

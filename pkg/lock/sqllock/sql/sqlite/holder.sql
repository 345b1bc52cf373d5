SELECT owner, token, expires - CAST(unixepoch('subsec') * 1000 AS integer)
FROM :table
WHERE scope = :scope AND owner <> '' AND expires > CAST(unixepoch('subsec') * 1000 AS integer)

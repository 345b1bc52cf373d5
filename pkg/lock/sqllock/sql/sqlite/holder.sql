SELECT owner, token, expires - CAST(round(unixepoch('subsec') * 1000) AS integer)
FROM :table
WHERE scope = :scope AND owner <> '' AND expires > CAST(round(unixepoch('subsec') * 1000) AS integer)

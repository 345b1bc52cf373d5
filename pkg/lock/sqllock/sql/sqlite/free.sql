UPDATE :table
SET owner = ''
WHERE scope = :scope AND owner = :owner AND expires > CAST(round(unixepoch('subsec') * 1000) AS integer)

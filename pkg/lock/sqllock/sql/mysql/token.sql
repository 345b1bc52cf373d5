SELECT token
FROM :table
WHERE scope = :scope AND owner = :owner

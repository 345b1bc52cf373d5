SELECT words
FROM :table
WHERE scope = :scope

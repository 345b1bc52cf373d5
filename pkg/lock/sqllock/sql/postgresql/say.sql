UPDATE :table
SET words = :words
WHERE scope = :scope AND owner = :owner

UPDATE :table
SET owner = ''
WHERE scope = :scope AND owner = :owner AND expires > UTC_TIMESTAMP(6)

UPDATE :table
SET owner = ''
WHERE scope = :scope AND owner = :owner AND expires > clock_timestamp()

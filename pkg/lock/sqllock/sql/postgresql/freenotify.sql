WITH freed AS (
	UPDATE :table
	SET owner = ''
	WHERE scope = :scope AND owner = :owner AND expires > clock_timestamp()
	RETURNING token
)
SELECT CASE WHEN pg_notify(':table', :scope) IS NULL THEN 0 ELSE token END
FROM freed

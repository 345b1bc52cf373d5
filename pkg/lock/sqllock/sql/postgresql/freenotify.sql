WITH freed AS (
	UPDATE :table
	SET owner = ''
	WHERE scope = :scope AND owner = :owner AND expires > clock_timestamp()
	RETURNING scope
)
SELECT pg_notify(':table', scope)
FROM freed

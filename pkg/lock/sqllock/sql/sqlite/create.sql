CREATE TABLE IF NOT EXISTS :table (
	scope text PRIMARY KEY,
	owner text NOT NULL,
	token integer NOT NULL,
	expires integer NOT NULL -- ms since 1970
)

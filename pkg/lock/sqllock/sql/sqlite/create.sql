CREATE TABLE IF NOT EXISTS :table (
	scope text PRIMARY KEY,
	owner text NOT NULL,
	token integer NOT NULL,
	expires integer NOT NULL, -- ms since 1970; 1 more than the TTL later, as the clock tells whole ms
	words text -- a holder, a space, and what it says of itself
)

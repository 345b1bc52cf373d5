CREATE TABLE IF NOT EXISTS :table (
	scope text COLLATE "C" PRIMARY KEY,
	owner text NOT NULL,
	token bigint NOT NULL,
	expires timestamptz NOT NULL,
	words text -- a holder, a space, and what it says of itself
)

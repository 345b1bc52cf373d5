-- Scopes are bytes, so that no collation takes two of them for one.
CREATE TABLE IF NOT EXISTS fence_marks (
	scope bytea PRIMARY KEY,
	token bigint NOT NULL,
	sequence bigint NOT NULL,
	shared bigint NOT NULL
)

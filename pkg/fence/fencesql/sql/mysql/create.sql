-- Scopes are bytes, so that no collation takes two of them for one.
CREATE TABLE IF NOT EXISTS fence_marks (
	scope VARBINARY(1000) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL,
	sequence BIGINT NOT NULL,
	shared BIGINT NOT NULL
) ENGINE = InnoDB

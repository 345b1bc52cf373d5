CREATE TABLE IF NOT EXISTS :table (
	scope varbinary(700) PRIMARY KEY,
	owner varchar(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	token bigint NOT NULL,
	expires datetime(6) NOT NULL,
	words varbinary(255) -- a holder, a space, and what it says of itself
) ENGINE = InnoDB

-- The rows of a lock that are there before anybody takes it.
WITH name AS (SELECT $1::text AS name),
     rows AS (INSERT INTO row_lock SELECT name FROM name)
INSERT INTO resource (name) SELECT name FROM name

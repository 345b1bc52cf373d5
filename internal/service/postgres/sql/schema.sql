-- The tables of all recipes but token, in the database of a run.

CREATE TABLE row_lock (
    name text PRIMARY KEY
);

-- Nothing keeps this table from having two rows of one name.
CREATE TABLE naive_lock (
    name text
);

-- The data that a lock guards: what a version or a status is compared in. The columns
-- tenure, request and at tell the account of the last change.
CREATE TABLE resource (
    name    text   PRIMARY KEY,
    version bigint NOT NULL DEFAULT 1,
    data    jsonb  NOT NULL DEFAULT '{}',
    tenure  text,
    request jsonb,
    at      timestamptz
);

-- As Spring Integration's schema-postgresql.sql has it.
CREATE TABLE int_lock (
    lock_key      char(36)     NOT NULL,
    region        varchar(100) NOT NULL,
    client_id     char(36),
    created_date  timestamp    NOT NULL,
    expired_after timestamp    NOT NULL,
    CONSTRAINT int_lock_pk PRIMARY KEY (lock_key, region)
);

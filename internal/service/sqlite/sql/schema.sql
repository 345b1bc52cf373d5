-- The tables of all recipes but token, in the file of a run. Times are microseconds since 1970.

-- That of Spring Integration, whose schemas have none for SQLite.
CREATE TABLE int_lock (
    lock_key      text    NOT NULL,
    region        text    NOT NULL,
    client_id     text,
    created_date  integer NOT NULL,
    expired_after integer NOT NULL,
    CONSTRAINT int_lock_pk PRIMARY KEY (lock_key, region)
);

-- What follows is the account. Triggers tell of rows, in the transaction that changes them.

CREATE TABLE told (
    number integer PRIMARY KEY AUTOINCREMENT,
    source text    NOT NULL,
    name   text    NOT NULL,
    owner  text,
    until  integer,
    token  integer NOT NULL
);

-- A row that is seen when its transaction is over.
CREATE TABLE finished (owner text PRIMARY KEY);

CREATE TRIGGER fence_locks_inserted AFTER INSERT ON fence_locks BEGIN
    INSERT INTO told (source, name, owner, until, token)
    VALUES ('fence_locks', NEW.scope, NEW.owner, 1000 * NEW.expires, NEW.token);
END;

CREATE TRIGGER fence_locks_changed AFTER UPDATE ON fence_locks BEGIN
    INSERT INTO told (source, name, owner, until, token)
    VALUES ('fence_locks', NEW.scope, NEW.owner, 1000 * NEW.expires, NEW.token);
END;

CREATE TRIGGER int_lock_inserted AFTER INSERT ON int_lock BEGIN
    INSERT INTO told (source, name, owner, until, token)
    VALUES ('int_lock', NEW.lock_key, NEW.client_id, NEW.expired_after, 0);
END;

CREATE TRIGGER int_lock_changed AFTER UPDATE ON int_lock BEGIN
    INSERT INTO told (source, name, owner, until, token)
    VALUES ('int_lock', NEW.lock_key, NEW.client_id, NEW.expired_after, 0);
END;

CREATE TRIGGER int_lock_deleted AFTER DELETE ON int_lock BEGIN
    INSERT INTO told (source, name, owner, until, token)
    VALUES ('int_lock', OLD.lock_key, NULL, NULL, 0);
END;

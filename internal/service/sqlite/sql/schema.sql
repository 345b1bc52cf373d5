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

-- A row for each key of the data. The columns request and at tell the account of the last change.
CREATE TABLE item (
    name    text    PRIMARY KEY,
    value   text,
    request text    NOT NULL,
    at      integer NOT NULL
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

-- What happens to the data. The content is as in sqlservice.DataTold.
CREATE TABLE data_told (
    number  integer PRIMARY KEY AUTOINCREMENT,
    kind    text    NOT NULL,
    content text    NOT NULL,
    at      integer NOT NULL
);

CREATE TRIGGER item_inserted AFTER INSERT ON item BEGIN
    INSERT INTO data_told (kind, content, at)
    VALUES ('done', '{"events": [' || NEW.request || '], "value": ' || json_quote(NEW.value) || '}', NEW.at);
END;

CREATE TRIGGER item_changed AFTER UPDATE ON item BEGIN
    INSERT INTO data_told (kind, content, at)
    VALUES ('done', '{"events": [' || NEW.request || '], "value": ' || json_quote(NEW.value) || '}', NEW.at);
END;

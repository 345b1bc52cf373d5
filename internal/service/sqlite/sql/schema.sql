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

-- The content is as in sqlservice.Told.
CREATE TABLE told (
    number  integer PRIMARY KEY AUTOINCREMENT,
    kind    text    NOT NULL,
    content text    NOT NULL,
    at      integer NOT NULL DEFAULT 0
);

-- A row that is seen when its transaction is over.
CREATE TABLE finished (owner text PRIMARY KEY);

CREATE TRIGGER fence_locks_inserted AFTER INSERT ON fence_locks BEGIN
    INSERT INTO told (kind, content)
    VALUES ('row', json_object('table', 'fence_locks', 'lock', NEW.scope, 'owner', NEW.owner, 'until', 1000 * NEW.expires, 'token', NEW.token));
END;

CREATE TRIGGER fence_locks_changed AFTER UPDATE ON fence_locks BEGIN
    INSERT INTO told (kind, content)
    VALUES ('row', json_object('table', 'fence_locks', 'lock', NEW.scope, 'owner', NEW.owner, 'until', 1000 * NEW.expires, 'token', NEW.token));
END;

CREATE TRIGGER int_lock_inserted AFTER INSERT ON int_lock BEGIN
    INSERT INTO told (kind, content)
    VALUES ('row', json_object('table', 'int_lock', 'lock', NEW.lock_key, 'owner', NEW.client_id, 'until', NEW.expired_after, 'token', 0));
END;

CREATE TRIGGER int_lock_changed AFTER UPDATE ON int_lock BEGIN
    INSERT INTO told (kind, content)
    VALUES ('row', json_object('table', 'int_lock', 'lock', NEW.lock_key, 'owner', NEW.client_id, 'until', NEW.expired_after, 'token', 0));
END;

CREATE TRIGGER int_lock_deleted AFTER DELETE ON int_lock BEGIN
    INSERT INTO told (kind, content)
    VALUES ('row', json_object('table', 'int_lock', 'lock', OLD.lock_key, 'owner', NULL, 'until', NULL, 'token', 0));
END;

CREATE TRIGGER item_inserted AFTER INSERT ON item BEGIN
    INSERT INTO told (kind, content, at)
    VALUES ('done', '{"events": [' || NEW.request || '], "value": ' || json_quote(NEW.value) || '}', NEW.at);
END;

CREATE TRIGGER item_changed AFTER UPDATE ON item BEGIN
    INSERT INTO told (kind, content, at)
    VALUES ('done', '{"events": [' || NEW.request || '], "value": ' || json_quote(NEW.value) || '}', NEW.at);
END;

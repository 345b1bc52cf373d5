-- The tables of all recipes but token, in the database of a run.

CREATE TABLE row_lock (
    name text PRIMARY KEY
);

-- Nothing keeps this table from having two rows of one name.
CREATE TABLE naive_lock (
    name text
);

-- The data that a lock guards: what a version or a status is compared in.
CREATE TABLE resource (
    name    text   PRIMARY KEY,
    version bigint NOT NULL DEFAULT 1,
    data    jsonb  NOT NULL DEFAULT '{}'
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

-- As ShedLock's documentation has it.
CREATE TABLE shedlock (
    name       varchar(64)  NOT NULL PRIMARY KEY,
    lock_until timestamp    NOT NULL,
    locked_at  timestamp    NOT NULL,
    locked_by  varchar(255) NOT NULL
);

-- What follows is the account. Triggers have the log tell of rows, in the transaction that changes
-- them. The content of messages is as in sqlservice.Told.

CREATE FUNCTION tell_row(lock text, owner text, until numeric, token bigint, source text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_logical_emit_message(true, 'fencelab-row', json_build_object(
        'lock', lock, 'owner', owner, 'until', (until * 1000000)::bigint, 'token', token, 'table', source)::text)
$$;

CREATE FUNCTION tell_fence_locks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_row(NEW.scope, NEW.owner, extract(epoch FROM NEW.expires), NEW.token, TG_TABLE_NAME);
    RETURN NULL;
END $$;

CREATE TRIGGER told AFTER INSERT OR UPDATE ON fence_locks FOR EACH ROW EXECUTE FUNCTION tell_fence_locks();

CREATE FUNCTION tell_int_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM tell_row(OLD.lock_key, NULL, 0, 0, TG_TABLE_NAME);
    ELSE
        PERFORM tell_row(NEW.lock_key, NEW.client_id, extract(epoch FROM NEW.expired_after), 0, TG_TABLE_NAME);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON int_lock FOR EACH ROW EXECUTE FUNCTION tell_int_lock();

-- By an unlock a row has the holder whom it had, and a lease that is over.
CREATE FUNCTION tell_shedlock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_row(NEW.name,
        CASE WHEN NEW.locked_by = OLD.locked_by AND NEW.lock_until <= clock_timestamp() AT TIME ZONE 'UTC' THEN NULL ELSE NEW.locked_by END,
        extract(epoch FROM NEW.lock_until), 0, TG_TABLE_NAME);
    RETURN NULL;
END $$;

CREATE TRIGGER told AFTER INSERT OR UPDATE ON shedlock FOR EACH ROW EXECUTE FUNCTION tell_shedlock();

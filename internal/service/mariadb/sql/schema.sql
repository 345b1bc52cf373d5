-- The tables of all recipes but token, in the database of a run. Names are compared by their bytes.

CREATE TABLE row_lock (
    name varchar(200) COLLATE utf8mb4_bin PRIMARY KEY
) ENGINE = InnoDB;

-- The column name has no index.
CREATE TABLE unindexed_lock (
    number bigint AUTO_INCREMENT PRIMARY KEY,
    name   varchar(200) COLLATE utf8mb4_bin NOT NULL
) ENGINE = InnoDB;

CREATE TABLE naive_lock (
    name varchar(200) COLLATE utf8mb4_bin PRIMARY KEY
) ENGINE = InnoDB;

-- The data that a lock guards: what a version or a status is compared in. The column tenure
-- tells the account of the last change.
CREATE TABLE resource (
    name    varchar(200) COLLATE utf8mb4_bin PRIMARY KEY,
    version bigint NOT NULL DEFAULT 1,
    status  text   COLLATE utf8mb4_bin,
    tenure  varchar(36)
) ENGINE = InnoDB;

-- A row for each key. The column request tells the account of the last change.
CREATE TABLE item (
    name    varchar(200) COLLATE utf8mb4_bin PRIMARY KEY,
    value   longtext,
    request longtext NOT NULL
) ENGINE = InnoDB;

-- As Spring Integration's schema-mysql.sql has it. MariaDB compares names of tables by their bytes.
CREATE TABLE INT_LOCK (
    lock_key      char(36)     NOT NULL,
    region        varchar(100) NOT NULL,
    client_id     char(36),
    created_date  datetime(6)  NOT NULL,
    expired_after datetime(6)  NOT NULL,
    CONSTRAINT int_lock_pk PRIMARY KEY (lock_key, region)
) ENGINE = InnoDB;

-- As ShedLock's documentation has it, but for timestamp, which goes by the time zone of each session.
CREATE TABLE shedlock (
    name       varchar(64)  COLLATE utf8mb4_bin PRIMARY KEY,
    lock_until datetime(3)  NOT NULL,
    locked_at  datetime(3)  NOT NULL,
    locked_by  varchar(255) NOT NULL
) ENGINE = InnoDB;

-- What follows is the account. Triggers tell of rows, in the transaction that changes them.

-- The content is as in sqlservice.Told.
CREATE TABLE told (
    number  bigint AUTO_INCREMENT PRIMARY KEY,
    kind    varchar(20) NOT NULL,
    at      bigint      NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))),
    content longtext    NOT NULL
) ENGINE = InnoDB;

-- MariaDB takes a parameter for a text in JSON_OBJECT.
CREATE PROCEDURE tell_row(source varchar(20), lock_name varchar(200) CHARACTER SET utf8mb4, owner varchar(36), until datetime(6), token bigint)
    INSERT INTO told (kind, content)
    VALUES ('row', JSON_OBJECT('table', source, 'lock', lock_name, 'owner', owner,
        'until', TIMESTAMPDIFF(MICROSECOND, '1970-01-01', until), 'token', CAST(token AS SIGNED)));

CREATE TRIGGER fence_locks_inserted AFTER INSERT ON fence_locks FOR EACH ROW
    CALL tell_row('fence_locks', NEW.scope, NEW.owner, NEW.expires, NEW.token);

CREATE TRIGGER fence_locks_changed AFTER UPDATE ON fence_locks FOR EACH ROW
    CALL tell_row('fence_locks', NEW.scope, NEW.owner, NEW.expires, NEW.token);

CREATE TRIGGER int_lock_inserted AFTER INSERT ON INT_LOCK FOR EACH ROW
    CALL tell_row('int_lock', NEW.lock_key, NEW.client_id, NEW.expired_after, 0);

CREATE TRIGGER int_lock_changed AFTER UPDATE ON INT_LOCK FOR EACH ROW
    CALL tell_row('int_lock', NEW.lock_key, NEW.client_id, NEW.expired_after, 0);

CREATE TRIGGER int_lock_deleted AFTER DELETE ON INT_LOCK FOR EACH ROW
    CALL tell_row('int_lock', OLD.lock_key, NULL, NULL, 0);

CREATE TRIGGER shedlock_inserted AFTER INSERT ON shedlock FOR EACH ROW
    CALL tell_row('shedlock', NEW.name, NEW.locked_by, NEW.lock_until, 0);

-- By an unlock a row has the holder whom it had, and a lease that is over.
CREATE TRIGGER shedlock_changed AFTER UPDATE ON shedlock FOR EACH ROW
    CALL tell_row('shedlock', NEW.name, IF(NEW.locked_by = OLD.locked_by AND NEW.lock_until <= UTC_TIMESTAMP(6), NULL, NEW.locked_by), NEW.lock_until, 0);

CREATE TRIGGER resource_changed AFTER UPDATE ON resource FOR EACH ROW
    INSERT INTO told (kind, content)
    VALUES ('changed', JSON_OBJECT('lock', NEW.name, 'owner', NEW.tenure, 'version', NEW.version, 'status', NEW.status));

CREATE PROCEDURE tell_item(request longtext, value longtext)
    INSERT INTO told (kind, content)
    VALUES ('done', CONCAT('{"events": [', request, '], "value": ', IFNULL(JSON_QUOTE(value), 'null'), '}'));

CREATE TRIGGER item_inserted AFTER INSERT ON item FOR EACH ROW CALL tell_item(NEW.request, NEW.value);

CREATE TRIGGER item_changed AFTER UPDATE ON item FOR EACH ROW CALL tell_item(NEW.request, NEW.value);

-- A lock of a connection is told of when it is taken, whatever becomes of the transaction:
-- MyISAM has no transactions.
CREATE TABLE held (
    number    bigint AUTO_INCREMENT PRIMARY KEY,
    name      varchar(200) NOT NULL,
    owner     varchar(36)  NOT NULL,
    at        bigint       NOT NULL, -- microseconds since 1970
    process   bigint       NOT NULL,
    `session` boolean      NOT NULL  -- the lock is the session's, and not a transaction's
) ENGINE = MyISAM;

-- A row that a transaction has inserted and not yet committed: the transaction goes on.
CREATE TABLE goes_on (
    owner varchar(36) PRIMARY KEY
) ENGINE = InnoDB;

CREATE PROCEDURE tell(lock_name varchar(200), owner_name varchar(36), of_session boolean)
    INSERT INTO held (name, owner, at, process, `session`)
    VALUES (lock_name, owner_name, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), CONNECTION_ID(), of_session);

-- The row has been there before.
CREATE PROCEDURE for_update(lock_name varchar(200), owner_name varchar(36))
BEGIN
    DECLARE found varchar(200);
    SELECT name INTO found FROM row_lock WHERE name = lock_name FOR UPDATE;
    INSERT INTO goes_on VALUES (owner_name);
    CALL tell(lock_name, owner_name, false);
END;

-- The SELECT reads, and locks, every row of the table.
CREATE PROCEDURE for_update_unindexed(lock_name varchar(200), owner_name varchar(36))
BEGIN
    DECLARE found varchar(200);
    SELECT name INTO found FROM unindexed_lock WHERE name = lock_name FOR UPDATE;
    INSERT INTO goes_on VALUES (owner_name);
    CALL tell(lock_name, owner_name, false);
END;

-- Where there is no row, FOR UPDATE locks the gap in which it would be.
CREATE PROCEDURE for_update_naive(lock_name varchar(200), owner_name varchar(36))
BEGIN
    IF NOT EXISTS (SELECT name FROM naive_lock WHERE name = lock_name FOR UPDATE) THEN
        INSERT INTO naive_lock VALUES (lock_name);
    END IF;
    INSERT INTO goes_on VALUES (owner_name);
    CALL tell(lock_name, owner_name, false);
END;

-- It waits for as long as for a row, and says by the same error that it gave up.
CREATE PROCEDURE take_get_lock(lock_name varchar(200), owner_name varchar(36))
BEGIN
    IF NOT GET_LOCK(lock_name, @@innodb_lock_wait_timeout) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'GET_LOCK has given up waiting';
    END IF;
    CALL tell(lock_name, owner_name, true);
END;

-- The file in which a holder of the run's file is told of, when it has taken the lock.

CREATE TABLE held (
    number  integer PRIMARY KEY AUTOINCREMENT,
    name    text    NOT NULL,
    owner   text    NOT NULL,
    at      integer NOT NULL, -- microseconds since 1970
    process integer NOT NULL,
    session integer NOT NULL DEFAULT 0 -- as the lock is a transaction's
);

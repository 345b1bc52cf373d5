-- The file in which a holder of the run's file is told of, when it has taken the lock.

CREATE TABLE held (
    number  integer PRIMARY KEY AUTOINCREMENT,
    name    text    NOT NULL,
    owner   text    NOT NULL,
    at      integer NOT NULL, -- microseconds since 1970
    process integer NOT NULL,
    session integer NOT NULL -- the transaction only reads, and has no lock
);

-- The transactions that only read and are over.
CREATE TABLE over (owner text PRIMARY KEY);

-- A message that no transaction has committed yet reaches the slot with the next commit,
-- which this is.
SELECT pg_logical_emit_message(true, 'flush', '') WHERE pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()

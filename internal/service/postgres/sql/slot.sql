-- The slot of a run ($1): a copy of the first slot ($3), where the server has that one.
SELECT CASE WHEN EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $3)
    THEN (SELECT lsn FROM pg_copy_logical_replication_slot($3, $1, $2))
    ELSE (SELECT lsn FROM pg_create_logical_replication_slot($1, 'test_decoding', $2))
END

-- Where there is no row there is nothing to lock.
WITH held AS MATERIALIZED (
    SELECT name FROM naive_lock WHERE name = $1 FOR UPDATE
)
SELECT pg_logical_emit_message(false, 'fencelab-taken', json_build_object(
    'lock', $1::text, 'owner', $2::text, 'at', clock_timestamp(), 'transaction', pg_current_xact_id()::text)::text)
FROM held LIMIT 1

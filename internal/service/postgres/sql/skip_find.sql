-- A row that another has locked is found as little as one that is not there.
WITH held AS MATERIALIZED (
    SELECT name FROM naive_lock WHERE name = $1 FOR UPDATE SKIP LOCKED
)
SELECT pg_logical_emit_message(false, 'fencelab-taken', json_build_object(
    'lock', $1::text, 'owner', $2::text, 'at', clock_timestamp(), 'transaction', pg_current_xact_id()::text)::text)
FROM held LIMIT 1

-- A lock of the transaction. The message tells the account of it.
WITH held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))
)
SELECT pg_logical_emit_message(false, 'fencelab-taken', json_build_object(
    'lock', $1::text, 'owner', $2::text, 'at', clock_timestamp(), 'transaction', pg_current_xact_id()::text)::text)
FROM held

WITH made AS (
    INSERT INTO naive_lock (name) VALUES ($1) RETURNING name
)
SELECT pg_logical_emit_message(false, 'fencelab-taken', json_build_object(
    'lock', $1::text, 'owner', $2::text, 'at', clock_timestamp(), 'transaction', pg_current_xact_id()::text)::text)
FROM made

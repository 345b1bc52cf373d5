-- Nobody changes the row before this transaction is over, so that the log has both in the
-- order in which they happened. The message tells the account of it.
WITH found AS MATERIALIZED (
    SELECT version, data->>'status' AS status FROM resource WHERE name = $1 FOR SHARE
)
SELECT version, status, pg_logical_emit_message(true, $2, json_build_object(
    'lock', $1::text, 'owner', $3::text, 'by', $4::text, 'at', clock_timestamp(), 'version', version, 'status', status)::text)
FROM found

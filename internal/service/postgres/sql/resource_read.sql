-- As a look at the row, of one key. $3 is what the account says of the request.
WITH found AS MATERIALIZED (
    SELECT version, data->>'status' AS status, data->>$2 AS value FROM resource WHERE name = $1 FOR SHARE
)
SELECT value, pg_logical_emit_message(true, 'fencelab-done', json_build_object(
    'at', clock_timestamp(), 'events', $3::jsonb, 'value', value)::text)
FROM found

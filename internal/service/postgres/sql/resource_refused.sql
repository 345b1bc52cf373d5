-- The UPDATE has changed no row. The message tells the account of it.
SELECT version, data->>'status', pg_logical_emit_message(true, 'fencelab-refused', json_build_object(
    'at', clock_timestamp(), 'events', $2::jsonb, 'version', version)::text)
FROM resource WHERE name = $1

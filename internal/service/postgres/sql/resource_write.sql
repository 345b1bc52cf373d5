-- $5 is what is compared: version ($6), status ($7), or nothing. The message tells the account
-- of the change, of which $4 is the request.
WITH changed AS (
    UPDATE resource
    SET version = version + 1, data = (data || $2::jsonb) - $3::text[]
    WHERE name = $1
        AND ($5 <> 'version' OR version = $6)
        AND ($5 <> 'status' OR data->>'status' IS NOT DISTINCT FROM $7)
    RETURNING version, data
)
SELECT version, data->>'status', pg_logical_emit_message(true, 'fencelab-changed', json_build_object(
    'lock', $1::text, 'owner', $8::text, 'at', clock_timestamp(), 'version', version, 'status', data->>'status',
    'data', data, 'events', $4::jsonb)::text)
FROM changed

-- $5 is what is compared: version ($6), status ($7), or nothing.
UPDATE resource
SET version = version + 1, data = (data || $2::jsonb) - $3::text[],
    tenure = $8, request = $4, at = clock_timestamp()
WHERE name = $1
    AND ($5 <> 'version' OR version = $6)
    AND ($5 <> 'status' OR data->>'status' IS NOT DISTINCT FROM $7)
RETURNING version, data->>'status'

-- A key that is deleted keeps its row, which has no value.
INSERT INTO item (name, value, request, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, request = excluded.request, at = excluded.at

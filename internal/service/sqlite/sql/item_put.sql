-- A key that is deleted keeps its row, which has no value.
INSERT INTO item (name, value, request, at) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, request = excluded.request, at = excluded.at

-- A key that is deleted keeps its row, which has no value.
INSERT INTO item (name, value, request) VALUES ($1, $2, $3)
ON DUPLICATE KEY UPDATE value = VALUES(value), request = VALUES(request)

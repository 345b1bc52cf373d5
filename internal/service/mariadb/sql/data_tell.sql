INSERT INTO data_told (kind, content) VALUES (?, ?)

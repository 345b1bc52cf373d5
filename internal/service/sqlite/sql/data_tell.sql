INSERT INTO data_told (kind, content, at) VALUES (?, ?, ?)

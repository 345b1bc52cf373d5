INSERT INTO held (name, owner, at, process)
VALUES (?, ?, ?, ?)

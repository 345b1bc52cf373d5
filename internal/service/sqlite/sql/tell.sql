INSERT INTO held (name, owner, at, process)
VALUES (?, ?, CAST(unixepoch('subsec') * 1000 AS integer) * 1000, ?)

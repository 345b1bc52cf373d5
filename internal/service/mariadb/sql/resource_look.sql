SELECT version, status FROM resource WHERE name = ? LOCK IN SHARE MODE

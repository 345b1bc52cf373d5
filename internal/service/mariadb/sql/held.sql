SELECT number, name, owner, at, process, `session` FROM held WHERE number > ? ORDER BY number

-- Whether a session waits for a lock of GET_LOCK.
SELECT EXISTS (SELECT * FROM information_schema.PROCESSLIST WHERE id = ? AND state = 'User lock')

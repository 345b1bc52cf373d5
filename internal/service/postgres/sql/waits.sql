-- Whether a session waits for a lock.
SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)

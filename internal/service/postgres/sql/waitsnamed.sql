-- Whether the session of this name waits for a lock.
SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = $1 AND NOT granted)

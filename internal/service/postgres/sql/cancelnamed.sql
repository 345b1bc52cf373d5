-- Cancels what the session of this name is asked for.
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = $1

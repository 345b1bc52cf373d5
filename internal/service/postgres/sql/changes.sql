-- What was committed since the last time, in the order of the commits, and the messages.
SELECT data FROM pg_logical_slot_get_changes($1, NULL, NULL, 'include-xids', 'off', 'skip-empty-xacts', 'on')

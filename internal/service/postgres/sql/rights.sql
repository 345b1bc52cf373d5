-- Whether runs can have databases and slots of their own.
SELECT current_setting('wal_level'), rolsuper OR rolcreatedb AND rolreplication
FROM pg_roles WHERE rolname = current_user

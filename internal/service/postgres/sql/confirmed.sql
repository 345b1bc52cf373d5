SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = $1

-- The database's clock, in the time zone of the table's columns.
SELECT clock_timestamp() AT TIME ZONE 'UTC'

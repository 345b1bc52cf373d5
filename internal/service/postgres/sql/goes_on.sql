-- Whether a lock's transaction ($3), or session ($2), still has it.
SELECT CASE
    WHEN $3 <> '' THEN pg_xact_status($3::text::xid8) = 'in progress'
    ELSE EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND pid = $2
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0))
END

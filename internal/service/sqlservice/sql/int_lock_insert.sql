INSERT INTO INT_LOCK (region, lock_key, client_id, created_date, expired_after)
VALUES ($1, $2, $3, $4, $5)

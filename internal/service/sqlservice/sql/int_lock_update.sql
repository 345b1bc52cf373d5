UPDATE INT_LOCK
SET client_id = $3, created_date = $4, expired_after = $5
WHERE region = $1 AND lock_key = $2 AND (client_id = $3 OR expired_after < $4)

UPDATE :table
SET CLIENT_ID = :client, EXPIRED_AFTER = CAST(:expires AS timestamp)
WHERE REGION = :region AND LOCK_KEY = :key AND EXPIRED_AFTER < CAST(:now AS timestamp)
RETURNING 0

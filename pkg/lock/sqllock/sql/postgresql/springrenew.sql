UPDATE :table
SET EXPIRED_AFTER = CAST(:expires AS timestamp)
WHERE REGION = :region AND LOCK_KEY = :key AND CLIENT_ID = :client AND EXPIRED_AFTER >= CAST(:now AS timestamp)

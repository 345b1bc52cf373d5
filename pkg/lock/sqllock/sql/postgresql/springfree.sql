DELETE FROM :table
WHERE REGION = :region AND LOCK_KEY = :key AND CLIENT_ID = :client AND EXPIRED_AFTER >= CAST(:now AS timestamp)

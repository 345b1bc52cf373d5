UPDATE :table
SET CLIENT_ID = :client, EXPIRED_AFTER = :expires
WHERE REGION = :region AND LOCK_KEY = :key AND EXPIRED_AFTER < :now

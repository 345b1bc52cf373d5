INSERT IGNORE INTO :table (LOCK_KEY, REGION, CLIENT_ID, CREATED_DATE, EXPIRED_AFTER)
VALUES (:key, :region, :client, :now, :expires)

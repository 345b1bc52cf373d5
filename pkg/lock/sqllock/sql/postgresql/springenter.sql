INSERT INTO :table (LOCK_KEY, REGION, CLIENT_ID, CREATED_DATE, EXPIRED_AFTER)
VALUES (:key, :region, :client, CAST(:now AS timestamp), CAST(:expires AS timestamp))
ON CONFLICT DO NOTHING

-- What was committed last, whenever the transaction began.
SELECT value FROM item WHERE name = ? LOCK IN SHARE MODE

DELETE FROM INT_LOCK WHERE region = $1 AND lock_key = $2

DELETE FROM int_lock WHERE region = $1 AND lock_key = $2

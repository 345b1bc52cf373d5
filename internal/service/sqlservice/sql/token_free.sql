UPDATE token_lock SET owner = NULL, expires = NULL WHERE name = $1 AND owner = $2

SELECT value FROM item WHERE name = ?

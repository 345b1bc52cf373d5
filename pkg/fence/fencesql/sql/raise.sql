-- The next mark of a scope, whose row this transaction has locked.
UPDATE fence_marks SET token = ?, sequence = ?, shared = ? WHERE scope = ?

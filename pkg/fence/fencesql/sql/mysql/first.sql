-- The first use of a scope. Where two are the first at once, one waits for the other. A row
-- that is there is locked, and stays as it is. IGNORE would let two share the lock on it,
-- and FOR UPDATE of a row that is not there would let two share the gap: a deadlock.
INSERT INTO fence_marks (scope, token, sequence, shared) VALUES (?, 0, 0, 0) ON DUPLICATE KEY UPDATE token = token

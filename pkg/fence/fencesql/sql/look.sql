-- The mark of a scope, whoever else is at work on it.
SELECT token, sequence, shared FROM fence_marks WHERE scope = ?

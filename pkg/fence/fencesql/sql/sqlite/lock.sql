-- The mark of a scope. first.sql has locked the whole database already.
SELECT token, sequence, shared FROM fence_marks WHERE scope = ?

-- The mark of a scope, for this transaction alone until its end.
SELECT token, sequence, shared FROM fence_marks WHERE scope = ? FOR UPDATE

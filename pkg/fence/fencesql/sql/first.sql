-- The first use of a scope. Where two are the first at once, one waits for the other.
INSERT INTO fence_marks (scope, token, sequence, shared) VALUES (?, 0, 0, 0) ON CONFLICT (scope) DO NOTHING

SELECT EXISTS (SELECT 1 FROM fence_locks WHERE owner = $1) OR EXISTS (SELECT 1 FROM INT_LOCK WHERE client_id = $2)
    OR EXISTS (SELECT 1 FROM shedlock WHERE locked_by = $1)

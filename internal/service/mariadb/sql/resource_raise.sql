-- What is compared is the version, the status, or nothing.
UPDATE resource
SET version = version + 1, status = IF($5, $6, status), tenure = $7
WHERE name = $1
    AND ($2 <> 'version' OR version = $3)
    AND ($2 <> 'status' OR status <=> $4)

SELECT data->>$1 FROM resource WHERE data ? $1

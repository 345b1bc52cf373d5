SELECT number, kind, at, content FROM data_told ORDER BY number

SELECT @@autocommit

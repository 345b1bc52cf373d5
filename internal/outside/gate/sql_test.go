package gate

import "testing"

// TestWrites: what may change data is told from what cannot.
func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     false,
		"SELECT 1":                             false,
		"select 'insert into a' -- update":     false,
		"SELECT * FROM a FOR UPDATE":           false,
		"SELECT * FROM a FOR NO KEY UPDATE":    false,
		"SELECT replace(a, 'b', 'c') FROM d":   false,
		"SELECT * INTO b FROM a":               true,
		"begin; select 1; commit":              false,
		"begin; update a set b = 1; commit":    true,
		"WITH n AS (SELECT 1) SELECT * FROM n": false,
		"WITH n AS (DELETE FROM a RETURNING b) SELECT * FROM n":      true,
		"INSERT INTO a VALUES (1)":                                   true,
		"/* SELECT */ INSERT INTO a VALUES (1)":                      true,
		"COPY a FROM STDIN":                                          true,
		"COPY a TO STDOUT":                                           false,
		"COPY (DELETE FROM a RETURNING b) TO STDOUT":                 true,
		"BEGIN NOT ATOMIC INSERT INTO a VALUES (1); END":             true,
		"SET STATEMENT max_statement_time = 1 FOR DELETE FROM a":     true,
		"SET TRANSACTION READ ONLY":                                  false,
		"EXECUTE something":                                          true,
		"CALL f()":                                                   true,
		"CREATE TABLE a (b int)":                                     true,
		"UPDATE fence_locks SET owner = 'a'":                         false,
		"insert into INT_LOCK values (1)":                            false,
		"UPDATE a SET b = 1 FROM fence_locks":                        true,
		"SELECT 1; UPDATE fence_locks SET a = 1; UPDATE b SET c = 1": true,
	} {
		for name, d := range map[string]dialect{"postgres": postgresSQL, "mariadb": mariaSQL} {
			if got := d.writes(text); got != want {
				t.Errorf("%s: %q writes: %v, want %v", name, text, got, want)
			}
		}
	}
	for _, text := range []string{
		`SELECT $a$ ; update b $a$`, `SELECT E'\'; update b'`, `SELECT "update" FROM a`, `SELECT '\'`, `SELECT /* /* */ ; update b */ 1`, `SELECT $1`,
	} {
		if postgresSQL.writes(text) {
			t.Errorf("postgres: %q writes", text)
		}
	}
	for _, text := range []string{`SELECT '\'; update b'`, `SELECT "; update b"`, "SELECT `update` FROM a", "SELECT 1 # ; update b"} {
		if mariaSQL.writes(text) {
			t.Errorf("mariadb: %q writes", text)
		}
	}
	if !postgresSQL.writes(`SELECT '\'; UPDATE a SET b = 1`) || !mariaSQL.writes("/*!40000 UPDATE a SET b = 1 */") || !postgresSQL.writes(`UPDATE "a" SET b = 1`) {
		t.Error("a change is taken for none")
	}
}

package mariadb_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
)

// TestDataInMariaDB: settings and steps that make no sense are refused, with what to do.
func TestDataInMariaDB(t *testing.T) {
	for _, tt := range []struct{ storage, client, steps, want string }{
		{"fencing: on", "by: version", "client1: lock", `version compares the row that has the data: it needs "storage: {in: service}"`},
		{"in: service", "by: token, compare: false", "client1: lock", `token compares nothing: leave "compare" out`},
		{"fencing: on", "by: token, lock-timeout: 1s", "client1: lock", `token has no request that waits in the database: it asks again and again. Leave "lock-timeout" out`},
		{"in: service", "by: token, give-up: leave", "client1: lock", `token has no request that waits in the database: it asks again and again. Leave "give-up" out`},
		{"fencing: on", "by: get-lock, on-timeout: commit", "client1: lock", `the data does not lie in MariaDB, and no transaction changes it: leave "on-timeout" out`},
		{"in: service", "by: for-update, on-timeout: commit", "client1: lock", `a change is part of the transaction that has the lock, which ends with an error: leave "on-timeout" out, or want "writes: outside"`},
		{"in: service", "by: for-update, on-timeout: commit, writes: outside", "client1: lock", ""},
		{"in: service", "by: get-lock, writes: outside", "client1: lock", `get-lock is no lock of a transaction`},
		{"fencing: on", "by: token", "gcsim: hold a", `the data does not lie in MariaDB, and no key has a row there: it needs "storage: {in: service}"`},
		{"in: service", "by: token", "gcsim: let a go", `nobody holds the row of a here: it needs a step "gcsim: hold a" before`},
		{"in: service", "by: token", "gcsim: hold a\n  - gcsim: hold a", "the row of a is held already"},
		{"in: service", "by: token", "gcsim: hold a\n  - gcsim: let a go\n  - gcsim: let a go", "nobody holds the row of a here"},
		{"in: service", "by: token, lock-timeout: 1s, on-timeout: commit", "gcsim: hold a\n  - gcsim: let a go\n  - gcsim: hold a", ""},
	} {
		file := "title: t\nworld: {mariadb: {}, storage: {" + tt.storage + "}}\nclients:\n  client1: {lock: /lock, " + tt.client + "}\n" +
			"steps:\n  - " + tt.steps + "\nvariants:\n  v: {expect: {verdict: safe}}\n"
		_, err := lab.Language(services).Parse("x.yaml", "x", []byte(file))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestWatchExec: a command under a lock of etcd, by "client exec", which ends the command when the
// lock is lost. What the command has sent arrives all the same, with its token.
func TestWatchExec(t *testing.T) {
	t.Parallel()
	need.Programs(t, "to watch a command under a lock", "sh", "curl")
	w := newWorld(t)
	write := `curl -sS -X PUT -H "Fencing-Scope: $FENCING_SCOPE" -H "Fencing-Token: $FENCING_TOKEN" -d x $FENCELAB_STORAGE/v1/kv/key`
	p := w.start("gcsim", "watch", "--", "sh", "-c", filepath.Join(bin, "client")+` exec --ttl 1s --endpoints $FENCELAB_ETCD --lock $FENCELAB_LOCK -- sh -c '`+write+`'`)
	p.want(0)
	p.says("it holds /lock with token 2, and is stopped", "the late request of the command", "/v1/kv/key: 412", "safe: no late write got in")
	p = w.start("gcsim", "watch", "--at", "grant", "--", "sh", "-c", filepath.Join(bin, "client")+` exec --ttl 1s --endpoints $FENCELAB_ETCD --lock $FENCELAB_LOCK -- sh -c '`+write+`'`)
	p.want(0)
	p.says("and is stopped", "safe: no late write got in")
}

// TestWatch: a program whose storage does not check its token is found, also if the program looks
// right before it writes; and one that shows its token is safe.
func TestWatch(t *testing.T) {
	t.Parallel()
	const program = "../examples/watch/backup.py"
	need.Files(t, "../examples/watch")
	python := need.Program(t, "python3", "to watch a program in Python")
	w := newWorld(t)
	storage, unfenced := w.storage("--fencing", "off")
	defer storage.end()
	defer storage.signal(15)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"careful", []string{"--", python, program}, 0, []string{
			"it holds /backup with token 1, and is stopped", "its lease has run out after", "the second one holds the lock with token 2", "the first one goes on",
			"/v1/kv/backup: 204", "/v1/kv/backup: 412", "the storage refuses it: HTTP Error 412", "safe: no late write got in",
		}},
		{"careless", []string{"--to", "unfenced", "--", python, program, "--careless"}, 1, []string{"the late request of the command", "/v1/kv/backup: 204", "corrupted: "}},
		{"careless, at a storage of its own", []string{"--to", unfenced, "--", python, program, "--careless"}, 1, []string{"the late request of the command, PUT " + unfenced + "/v1/kv/backup: 204", "corrupted: "}},
		{"with a token that nobody checks", []string{"--to", unfenced, "--", python, program}, 1, []string{"corrupted: "}},
		{"careful, stopped when it has the lock", []string{"--at", "grant", "--", python, program}, 0, []string{"it holds /backup with token 1, and is stopped", "safe: "}},
		{"careless, that looks, stopped when it has the lock", []string{"--at", "grant", "--to", "unfenced", "--", python, program, "--careless"}, 0, []string{"the lease is over: no backup", "it wrote nothing after it went on", "safe: "}},
		{"whose lock the service does not have", []string{"--", python, "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(u.Request(os.environ['FENCELAB_STORAGE'] + '/v1/kv/a', b'x', {'Fencing-Token': '1'}, method='PUT'))"}, 2, []string{"and wrote only while, as redis tells, nobody held /backup"}},
		{"whose lock no account tells of", []string{"--service", "postgres", "--set", "by=advisory", "--", "true"}, 2, []string{"could not be seen: no table of postgres has the locks of by=advisory"}},
		{"that the storage refuses in any case", []string{"--", python, program, "--careless"}, 2, []string{"could not be seen: ", "428", "what becomes of a late write shows nothing", "name the program's own by --to URL"}},
		{"without a lock", []string{"--", python, "-c", "print('done')"}, 2, []string{"could not be seen: it ended before it wrote anything", "done"}},
		{"that waits for something else", []string{"--patience", "1s", "--", python, "-c", "import time; time.sleep(3600)"}, 2, []string{"could not be seen: it went on for 1s before it wrote anything"}},
		{"that is not there", []string{"--", "no-such-program"}, 2, []string{"no-such-program"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.start("gcsim", append([]string{"watch", "--service", "redis", "--set", "by=fenced", "--lock", "/backup"}, tt.args...)...)
			p.want(tt.status)
			p.says(tt.says...)
		})
	}
}

// TestWatchSQL: of a program that writes by SQL the late write is found in the database's log, unless it compares the token.
func TestWatchSQL(t *testing.T) {
	t.Parallel()
	const program = "../examples/watch/withdraw.py"
	need.Files(t, "../examples/watch")
	postgrestest.Need(t, "to write by SQL")
	python := "/usr/bin/python3" // Debian's, for which it has packages
	if exec.Command(python, "-c", "import psycopg2").Run() != nil {
		need.Missing(t, "psycopg2", "to write by SQL", "apt-get install python3-psycopg2")
	}
	watch := []string{"watch", "--service", "redis", "--lock", "/account", "--to", "postgres", "--", python, program}
	w := newWorld(t)
	p := w.start("gcsim", watch...)
	p.want(1)
	p.says("it holds /account with token 1, and is stopped", "the second one holds the lock with token 2",
		"the late request of the command, UPDATE account SET balance = 90 WHERE id = 1: UPDATE 1", "it changed UPDATE public.account(id 1)", "corrupted: ")
	p = w.start("gcsim", append(watch, "--fenced")...)
	p.want(0)
	p.says("it asks for UPDATE account SET balance = 90, token = 2", ": UPDATE 1", "nothing is withdrawn", "safe: no late write got in")
}

// TestWatchStores: a program can write to any of the storages, and its lock can be where its data is.
func TestWatchStores(t *testing.T) {
	t.Parallel()
	const (
		take  = `until [ "$(redis-cli -u redis://$FENCELAB_REDIS SET $FENCELAB_LOCK $$ NX PX 3000)" = OK ]; do sleep 0.1; done; `
		maria = `p=${FENCELAB_STORAGE##*:}; sql() { mariadb -h 127.0.0.1 -P ${p%/*} -u root gcsim -e "$1"; }; sql 'CREATE TABLE IF NOT EXISTS a (id int PRIMARY KEY, b int)'; ` +
			take + `sql "REPLACE INTO a VALUES (1, $$)"`
		inTable = `sql() { psql -qAt "$FENCELAB_STORAGE" -c "$1"; }; sql 'CREATE TABLE IF NOT EXISTS a (id int PRIMARY KEY, b int)'
			until [ "$(sql "INSERT INTO fence_locks (scope, owner, token, expires) VALUES ('$FENCELAB_LOCK', md5(random()::text), 1, clock_timestamp() + interval '3s')
				ON CONFLICT (scope) DO UPDATE SET owner = excluded.owner, token = fence_locks.token + 1, expires = excluded.expires
				WHERE fence_locks.owner = '' OR fence_locks.expires < clock_timestamp() RETURNING 1")" = 1 ]; do sleep 0.1; done
			sql "BEGIN; INSERT INTO a VALUES (1, $$) ON CONFLICT (id) DO UPDATE SET b = excluded.b; COMMIT"`
	)
	for _, tt := range []struct {
		name    string
		server  func() string
		client  string
		args    []string
		program string
		says    []string
	}{
		{"redis", redisproc.Program, "redis-cli", []string{"--service", "redis", "--to", "redis"},
			take + `redis-cli -u $FENCELAB_STORAGE SET a $$`, []string{"the late request of the command, SET a", "it changed SET a"}},
		{"mariadb", mariadbproc.Program, "mariadb", []string{"--service", "redis", "--to", "mariadb"},
			maria, []string{"the late request of the command, REPLACE INTO a", "it changed UPDATE gcsim.a(id 1)"}},
		{"a lock in postgres", postgresproc.Program, "psql", []string{"--service", "postgres", "--to", "postgres"},
			inTable, []string{"it holds /lock with token 1", "the late request of the command, BEGIN; INSERT INTO a", "it changed UPDATE public.a(id 1)"}},
		{"a lock in postgres, stopped when it has it", postgresproc.Program, "psql", []string{"--service", "postgres", "--to", "postgres", "--at", "grant"},
			inTable, []string{"the late request of the command, BEGIN; INSERT INTO a", "it changed UPDATE public.a(id 1)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.server() == "" {
				need.Missing(t, "a server", "to write to "+tt.name, "apt-get install redis-server mariadb-server postgresql")
			}
			need.Programs(t, "to write to "+tt.name, tt.client, "redis-cli")
			w := newWorld(t)
			p := w.start("gcsim", append(append([]string{"watch"}, tt.args...), "--", "sh", "-c", tt.program)...)
			p.want(1)
			p.says(append(tt.says, "corrupted: ")...)
		})
	}
}

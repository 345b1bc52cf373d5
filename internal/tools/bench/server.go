package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// The commands that bench starts itself with, beside those of the lab.
const (
	roleStorage = "storage"
	roleNoop    = "noop"
	roleBare    = "bare"
	roleEtcd    = "synced-etcd"
	roleExec    = "exec"
	roleGreedy  = "greedy"
	roleHold    = "hold"
)

func roles() []*cobra.Command {
	list := append(lab.Roles(all.List), mariadbproc.Command())
	for _, role := range []struct {
		use string
		run func(ctx context.Context, args []string)
	}{
		{roleNoop + " ADDRESS", func(ctx context.Context, args []string) {
			// The timeouts cost a no-op handler as much as the storage.
			srv := storagecmd.NewServer(nil, kvhttp.NewTurns(), kvhttp.DefaultMaxKey, nil)
			srv.Addr = args[0]
			serveNoop(ctx, srv)
		}},
		{roleBare + " ADDRESS", func(ctx context.Context, args []string) {
			serveNoop(ctx, &http.Server{Addr: args[0]})
		}},
		{roleEtcd + " ADDRESS DIR", serveEtcd},
		{roleExec + " PROGRAM", func(_ context.Context, args []string) {
			fail.If(syscall.Exec(args[0], args, os.Environ()))
		}},
		{roleGreedy + " CLIENTS ADDRESS KEYS", beGreedy},
		{roleHold + " LOCK WHERE SCOPE", holdUntilKilled},
	} {
		list = append(list, &cobra.Command{
			Use: role.use, Hidden: true, Args: cobra.ExactArgs(len(strings.Fields(role.use)) - 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return fail.Caught(func() { role.run(cmd.Context(), args) })
			},
		})
	}
	return list
}

// serveNoop is the least that net/http can do: the answer of a write, to everything. The body is not looked
// at; net/http itself reads it away, to find the next request.
func serveNoop(ctx context.Context, srv *http.Server) {
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	context.AfterFunc(ctx, func() { srv.Close() })
	fail.If(srv.ListenAndServe())
}

// server is one that runs. It ends with the group.
type server struct {
	*proc.Process        // nil where it is no process, or several
	addr          string // or how else it is reached, in any process
	began         time.Time
}

// missing is why something is not measured: what is not there, and how to get it.
type missing string

func (m missing) Error() string { return string(m) }

const startTimeout = time.Minute

// start starts the server of a role on a free address, with more arguments after that, and
// returns when it takes connections.
func (b *bench) start(role string, args ...string) *server {
	addr := fail.Must(ports.Free(1))[0]
	return b.startAt(addr, role, append([]string{addr}, args...)...)
}

// startAt starts a server that takes connections at addr, and returns when it does.
func (b *bench) startAt(addr, role string, args ...string) *server {
	began := time.Now()
	s := &server{fail.Must(b.group.Start(role, nil, append([]string{role}, args...)...)), addr, began}
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return s
		}
		select {
		case <-s.Done():
			fail.If(s.Ended())
		case <-time.After(200 * time.Microsecond):
		}
		if time.Since(s.began) > startTimeout {
			fail.If(fmt.Errorf("%s does not serve after %v: %w", role, startTimeout, err))
		}
	}
}

// storage starts cmd/storage, as its users do but for the address.
func (b *bench) storage(flags ...string) *server {
	addr := fail.Must(ports.Free(1))[0]
	return b.startAt(addr, roleStorage, append([]string{"--listen", addr, "--log-level", "warn"}, flags...)...)
}

// boltStorage starts one with the engine bolt, whose file is in a directory of the group.
func (b *bench) boltStorage(dir string) *server {
	return b.storage("--engine", "bolt", "--data", filepath.Join(b.group.Dir, dir))
}

// status is the file in which Linux tells of the process.
func (s *server) status() string { return fmt.Sprintf("/proc/%d/status", s.PID()) }

// launcher starts a server of a service. It fails with an error that is missing where there is none.
type launcher func(ctx context.Context, b *bench) *server

func (b *bench) launch(start launcher) *server {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // also for one in Java
	defer cancel()
	return start(ctx, b)
}

// there is where a program was found. Where it was not, the error says what brings it.
func there(found, lacks, bring string) string {
	if found == "" {
		fail.If(missing(lacks + " (" + bring + ")"))
	}
	return found
}

// startEtcd starts an etcd that syncs, unlike that of the lab.
func startEtcd(ctx context.Context, b *bench) *server {
	s := b.start(roleEtcd, filepath.Join(b.group.Dir, "etcd"))
	client, end := dialEtcd(s.addr)
	defer end()
	_, err := client.Get(ctx, "ready") // it serves when it has a leader
	named("etcd does not serve", err)
	return s
}

// etcdTxnOps is how many operations a Txn may have: those of the storage's largest batch.
const etcdTxnOps = 1024 + fenceetcd.ExtraOps

// serveEtcd serves one member, as docs/operations.md says, and with the largest quota that etcd
// suggests. args are its address and its directory.
func serveEtcd(ctx context.Context, args []string) {
	cfg := embed.NewConfig()
	cfg.Dir = args[1]
	client, other := url.URL{Scheme: "http", Host: args[0]}, url.URL{Scheme: "http", Host: fail.Must(ports.Free(1))[0]}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{other}, []url.URL{other}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.MaxTxnOps, cfg.QuotaBackendBytes = etcdTxnOps, 8<<30
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e := fail.Must(embed.StartEtcd(cfg))
	defer e.Close()
	select {
	case err := <-e.Err():
		fail.If(err)
	case <-ctx.Done():
	}
}

func dialEtcd(addr string) (*clientv3.Client, func()) {
	client := fail.Must(clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()}))
	return client, func() { client.Close() }
}

// startRedis starts a Redis without persistence, as the storage.
func startRedis(ctx context.Context, b *bench) *server {
	program := there(redisproc.Program(), "redis-server is not installed", redisproc.Install)
	s := fail.Must(redisproc.Start(ctx, b.group, program, redisproc.Settings(b.group.Dir, "none")...))
	return &server{Process: s.Process(), addr: s.Addr}
}

func startZooKeeper(ctx context.Context, b *bench) *server {
	found, bring := zkproc.Found()
	there(found, "ZooKeeper is missing", bring)
	return &server{addr: fail.Must(zkproc.Start(ctx, b.group, zkproc.Config{Members: 1})).Endpoints()[0]}
}

func startElasticsearch(ctx context.Context, b *bench) *server {
	found, bring := esproc.Found()
	there(found, "Elasticsearch is missing", bring)
	s := &server{addr: "http://" + fail.Must(esproc.Start(ctx, b.group, 1)).Endpoints()[0]}
	fail.If(eslock.Create(ctx, s.addr))
	return s
}

type database struct {
	name   string
	locks  sqllock.Dialect
	fences fencesql.Dialect

	now, later string // its clock, and a minute after that
	forUpdate  string // has a query lock its row
	numbered   bool   // parameters are $1, $2, …
	size       string // asks how many bytes TABLE has, with its index
	rewrite    string // has the table of locks rewritten, without what is no row any more

	// open starts it, as a launcher does, and says how it is opened, by a driver.
	open func(ctx context.Context, b *bench) (driver, source string)
}

var databases = []*database{
	{
		name: "PostgreSQL", locks: sqllock.PostgreSQL, fences: fencesql.PostgreSQL,
		now: "clock_timestamp()", later: "clock_timestamp() + interval '1 minute'", forUpdate: " FOR UPDATE", numbered: true,
		size: "SELECT pg_total_relation_size('TABLE')", rewrite: "VACUUM FULL fence_locks",
		open: func(ctx context.Context, b *bench) (driver, source string) {
			program := there(postgresproc.Program(), "postgres is not installed", postgresproc.Install)
			return "pgx", fail.Must(postgresproc.Start(ctx, b.group, program)).URL()
		},
	},
	{
		name: "MariaDB", locks: sqllock.MySQL, fences: fencesql.MySQL,
		now: "UTC_TIMESTAMP(6)", later: "UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE", forUpdate: " FOR UPDATE",
		size: "SELECT file_size FROM information_schema.innodb_sys_tablespaces WHERE name = 'bench/TABLE'", rewrite: "OPTIMIZE TABLE fence_locks",
		open: func(ctx context.Context, b *bench) (driver, source string) {
			program := there(mariadbproc.Program(), "mariadbd is not installed", mariadbproc.Install)
			config := fail.Must(mariadbproc.Start(ctx, b.group, program)).Config()
			config.InterpolateParams = true // else each statement is three round trips
			db := fail.Must(sql.Open("mysql", config.FormatDSN()))
			defer db.Close()
			config.DBName = "bench"
			fail.Must(db.ExecContext(ctx, "CREATE DATABASE "+config.DBName))
			return "mysql", config.FormatDSN()
		},
	},
	{
		name: "SQLite", locks: sqllock.SQLite, fences: fencesql.SQLite,
		now: "CAST(unixepoch('subsec') * 1000 AS integer)", later: "CAST(unixepoch('subsec') * 1000 AS integer) + 60000",
		size: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", rewrite: "VACUUM",
		open: func(_ context.Context, b *bench) (driver, source string) { // a library
			settings := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(60000)", "journal_mode(wal)", "synchronous(off)"}}
			return "sqlite", "file:" + filepath.Join(b.group.Dir, "bench.db") + "?" + settings.Encode()
		},
	},
}

// start has the tables of sqllock made, and in them the rows of the bare locks beside
// sqllock's own. The server's address is its driver and its source.
func (d *database) start(ctx context.Context, b *bench) *server {
	driver, source := d.open(ctx, b)
	s := &server{addr: driver + " " + source}
	db, end := dialDatabase(s.addr)
	defer end()
	fail.If(sqllock.Create(ctx, db, d.locks))
	insert := d.statement("INSERT INTO fence_locks (scope, owner, token, expires) VALUES (?, '', 0, NOW)")
	scopes := []string{oneLock, relayScope}
	for i := range manyClients {
		scopes = append(scopes, ownLock(i))
	}
	for _, scope := range scopes {
		fail.Must(db.ExecContext(ctx, insert, bareRow(scope)))
	}
	return s
}

func bareRow(scope string) string { return "/bare" + scope }

// dialDatabase opens a database for as many connections as work at the same time; none is made anew.
func dialDatabase(addr string) (*sql.DB, func()) {
	driver, source, _ := strings.Cut(addr, " ")
	db := fail.Must(sql.Open(driver, source))
	const most = 64
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, func() { db.Close() }
}

// statement is one in the words of the database; its parameters are written as ?.
func (d *database) statement(text string) string {
	text = strings.NewReplacer("NOW", d.now, "LATER", d.later, " FOR UPDATE", d.forUpdate).Replace(text)
	for n := 1; d.numbered && strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprint("$", n), 1)
	}
	return text
}

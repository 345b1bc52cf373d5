package interop_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// server is where both sides take their locks.
type server struct {
	java, ours string // where it is, for each side
	// queue returns when n wait for a lock. It is nil where nobody can tell.
	queue func(t *testing.T, kind, lock string, n int)
}

// embedded is the name of the embedded Redis. Checks that wait for leases are left out on it.
const embedded = "embedded Redis"

// servers are those that pairs are checked on, by name. Each ends with the test.
var servers = map[string]func(*testing.T) server{
	"Redis":      func(t *testing.T) server { return onRedis(t, redistest.Real(t)) },
	embedded:     func(t *testing.T) server { return onRedis(t, redistest.Embedded(t)) },
	"PostgreSQL": func(t *testing.T) server { return onDatabase(t, sqltest.Postgres(t), jdbcPostgres) },
	"MariaDB":    func(t *testing.T) server { return onDatabase(t, sqltest.MariaDB(t), jdbcMariaDB) },
	"ZooKeeper":  onZooKeeper,
	"etcd":       onEtcd,
}

// channels are those on which waiters for a lock of Redisson's listen: their beginnings.
var channels = map[string]string{
	"lock": "redisson_lock__channel:", "fenced": "redisson_lock__channel:",
	"read": "redisson_rwlock:", "write": "redisson_rwlock:",
}

func onRedis(t *testing.T, s *redisproc.Server) server {
	client := redistest.Connect(t, s)
	return server{java: s.Addr, ours: s.Addr, queue: func(t *testing.T, kind, lock string, n int) {
		until(t, n, func(ctx context.Context) (int, error) {
			channel, listens := channels[kind]
			switch {
			case kind == "fair":
				there, err := client.LLen(ctx, "redisson_lock_queue:{"+lock+"}").Result()
				return int(there), err
			case !listens: // who waits for a lock of Spring asks again and again
				return n, nil
			}
			channel += "{" + lock + "}"
			there, err := client.PubSubNumSub(ctx, channel).Result()
			return int(there[channel]), err
		})
	}}
}

// until waits until there are n.
func until(t *testing.T, n int, count func(context.Context) (int, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for again := time.NewTicker(5 * time.Millisecond); ; <-again.C {
		switch there, err := count(ctx); {
		case err != nil:
			t.Fatal(err)
		case there == n:
			return
		}
	}
}

func onZooKeeper(t *testing.T) server {
	addr := zktest.Start(t, 1).Members[0].Addr
	client := zktest.Connect(t, []string{addr}, long)
	return server{java: addr, ours: addr, queue: func(t *testing.T, _, lock string, n int) {
		until(t, n, func(context.Context) (int, error) {
			nodes, _, err := client.Children(lock)
			if errors.Is(err, zk.ErrNoNode) {
				return 0, nil
			}
			return len(nodes) - 1, err // the first one holds the lock
		})
	}}
}

func onEtcd(t *testing.T) server {
	cluster, err := etcdproc.Start(t.Context(), proctest.Group(t), 1, etcdserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := cluster.Members[0].Endpoint()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return server{java: endpoint, ours: endpoint, queue: func(t *testing.T, _, lock string, n int) {
		until(t, n, func(ctx context.Context) (int, error) {
			there, err := client.Get(ctx, lock+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				return 0, err
			}
			return int(there.Count) - 1, nil // the first one holds the lock
		})
	}}
}

func onDatabase(t *testing.T, d *sqltest.Database, source func(*testing.T, *sqltest.Database) string) server {
	db := d.Open(t)
	if _, err := db.ExecContext(t.Context(), sqltest.SpringTables[d.Driver]); err != nil {
		t.Fatal(err)
	}
	return server{java: source(t, d), ours: d.Driver + " " + d.Source}
}

// jdbcPostgres is what Java calls a database in PostgreSQL.
func jdbcPostgres(t *testing.T, d *sqltest.Database) string {
	t.Helper()
	server, err := url.Parse(d.Source)
	if err != nil {
		t.Fatal(err)
	}
	return "jdbc:postgresql://" + server.Host + server.Path +
		"?user=" + server.User.Username() + "&currentSchema=" + server.Query().Get("search_path")
}

// jdbcMariaDB is what Java calls one in MariaDB.
func jdbcMariaDB(t *testing.T, d *sqltest.Database) string {
	t.Helper()
	config, err := mysql.ParseDSN(d.Source)
	if err != nil {
		t.Fatal(err)
	}
	return "jdbc:mariadb://" + config.Addr + "/" + config.DBName + "?user=" + config.User
}

package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// lockTTL is so long that no lease runs out.
const lockTTL = time.Minute

// locking takes the lock of a scope, and waits for it. unlock gives it back. Both fail by an error.
type locking func(ctx context.Context, scope string) (unlock func(context.Context))

// giving makes an unlock.
func giving(back func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) { fail.If(back(ctx)) }
}

func lockingBy(b lock.Backend) locking {
	return func(ctx context.Context, scope string) func(context.Context) {
		return giving(fail.Must(b.Lock(ctx, scope)).Unlock)
	}
}

// opener begins to lock at the address of a server. end ends it.
type opener func(addr string, ttl time.Duration) (take locking, end func())

func with[C any](dial func(addr string) (C, func()), by func(client C, ttl time.Duration) locking) opener {
	return func(addr string, ttl time.Duration) (locking, func()) {
		client, end := dial(addr)
		return by(client, ttl), end
	}
}

type way struct {
	name   string
	open   opener
	server *server
	shared bool // all who lock do so by one client
	ttl    time.Duration
}

// The ways to lock in etcd and Redis: by the project's locks, by the least that a lock takes,
// and by other libraries.
var (
	byEtcdlock = with(dialEtcd, func(c *clientv3.Client, ttl time.Duration) locking { return lockingBy(fail.Must(etcdlock.New(c, ttl))) })
	byMutex    = with(dialEtcd, mutexes)
	byCommands = with(dialRedis, commands)
	byScripts  = with(dialRedis, tokenScripts)
	byRedsync  = with(dialRedis, redsyncs)
	byBsm      = with(dialRedis, bsmLocks)
)

// mutexes lock by a Mutex of package concurrency, in a session that is kept.
func mutexes(client *clientv3.Client, ttl time.Duration) locking {
	session := fail.Must(concurrency.NewSession(client, concurrency.WithTTL(int(ttl/time.Second))))
	return func(ctx context.Context, scope string) func(context.Context) {
		mutex := concurrency.NewMutex(session, scope)
		fail.If(mutex.Lock(ctx))
		return giving(mutex.Unlock)
	}
}

// dialRedis makes a client that sends nothing twice.
func dialRedis(addr string) (*redis.Client, func()) {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	return client, func() { client.Close() }
}

// dialPipelined makes a client that sends the requests of concurrent calls together.
func dialPipelined(addr string) (*redis.AutoPipeliner, func()) {
	client, end := dialRedis(addr)
	return fail.Must(client.AutoPipeline()), end
}

func byRedislock(some ...redislock.Option) opener {
	return with(dialRedis, redislocks[*redis.Client](some...))
}

func redislocks[C redis.UniversalClient](some ...redislock.Option) func(C, time.Duration) locking {
	return func(client C, ttl time.Duration) locking {
		return lockingBy(fail.Must(redislock.New(client, ttl, some...)))
	}
}

// poll is how often who locks by the bare commands or statements asks for a lock that is taken.
const poll = 100 * time.Millisecond

// polled asks until the lock is taken. The first pause is any part of poll, so that nobody asks
// in step with the holder.
func polled(ctx context.Context, take func() (taken bool)) {
	for pause := mathrand.N(poll); !take(); pause = poll {
		if !sleep.For(ctx, pause) {
			fail.If(ctx.Err())
		}
	}
}

var errNotOurs = errors.New("the lock was another's")

func owned(ours bool) {
	if !ours {
		fail.If(errNotOurs)
	}
}

var (
	//go:embed redistake.lua
	takeSource string
	//go:embed redisunlock.lua
	unlockSource string

	takeScript, unlockScript = redis.NewScript(takeSource), redis.NewScript(unlockSource)
)

// commands lock by the least that a lock takes: SET NX PX, and a script that compares and deletes.
func commands[C redis.UniversalClient](client C, ttl time.Duration) locking {
	return taking(client, func(ctx context.Context, scope, value string) bool {
		return fail.Must(client.SetNX(ctx, scope, value, ttl).Result())
	})
}

// tokenScripts lock by the least that a lock with a token takes: SET NX PX and INCR in one script, and one that compares
// and deletes.
func tokenScripts(client *redis.Client, ttl time.Duration) locking {
	return taking(client, func(ctx context.Context, scope, value string) bool {
		return fail.Must(takeScript.Run(ctx, client, []string{scope, scope + ".token"}, value, ttl.Milliseconds()).Int()) > 0
	})
}

func taking(client redis.Scripter, take func(ctx context.Context, scope, value string) bool) locking {
	return func(ctx context.Context, scope string) func(context.Context) {
		value := rand.Text()
		polled(ctx, func() bool { return take(ctx, scope, value) })
		return func(ctx context.Context) {
			owned(fail.Must(unlockScript.Run(ctx, client, []string{scope}, value).Bool()))
		}
	}
}

func redsyncs(client *redis.Client, ttl time.Duration) locking {
	pool := redsync.New(goredis.NewPool(client))
	return func(ctx context.Context, scope string) func(context.Context) {
		mutex := pool.NewMutex(scope, redsync.WithExpiry(ttl))
		fail.If(mutex.LockContext(ctx))
		return func(ctx context.Context) { owned(fail.Must(mutex.UnlockContext(ctx))) }
	}
}

func bsmLocks(client *redis.Client, ttl time.Duration) locking {
	locker := bsm.New(client)
	return func(ctx context.Context, scope string) func(context.Context) {
		return giving(fail.Must(locker.Obtain(ctx, scope, ttl, nil)).Release)
	}
}

func (d *database) bySQLLock(some ...sqllock.Option) opener {
	return with(dialDatabase, func(db *sql.DB, ttl time.Duration) locking {
		return lockingBy(fail.Must(sqllock.New(db, d.locks, ttl, some...)))
	})
}

// listening listens in PostgreSQL, by a connection of its own.
func listening(addr string) sqllock.Listen {
	_, source, _ := strings.Cut(addr, " ")
	return func(ctx context.Context, channel string, got func(string)) error {
		return fail.Caught(func() {
			conn := fail.Must(pgx.Connect(ctx, source))
			defer conn.Close(context.WithoutCancel(ctx))
			fail.Must(conn.Exec(ctx, "LISTEN "+channel))
			for got(""); ; {
				got(fail.Must(conn.WaitForNotification(ctx)).Payload)
			}
		})
	}
}

// byStatements locks by the least that a lock takes, in the table of sqllock.
func (d *database) byStatements() opener {
	take := d.statement("UPDATE fence_locks SET owner = ?, expires = LATER WHERE scope = ? AND (owner = '' OR expires <= NOW)")
	free := d.statement("UPDATE fence_locks SET owner = '' WHERE scope = ? AND owner = ?")
	return with(dialDatabase, func(db *sql.DB, _ time.Duration) locking {
		return func(ctx context.Context, scope string) func(context.Context) {
			owner := rand.Text()
			polled(ctx, func() bool {
				// Whose statement is cancelled does not know whether it has the lock.
				return changes(context.WithoutCancel(ctx), db, take, owner, bareRow(scope))
			})
			return func(ctx context.Context) { owned(changes(ctx, db, free, bareRow(scope), owner)) }
		}
	})
}

func changes(ctx context.Context, db *sql.DB, statement string, args ...any) bool {
	return fail.Must(fail.Must(db.ExecContext(ctx, statement, args...)).RowsAffected()) > 0
}

var (
	byNodes  = with(dialZooKeeper, nodes)
	byESLock = with(dialElasticsearch, func(e elastic, ttl time.Duration) locking {
		return lockingBy(fail.Must(eslock.New(e.url, ttl, eslock.HTTP(e.client))))
	})
	byDocument = with(dialElasticsearch, documents)
)

func byZKLock(addr string, ttl time.Duration) (locking, func()) {
	backend := fail.Must(zklock.New([]string{addr}, ttl))
	return lockingBy(backend), func() { backend.Close() }
}

func dialZooKeeper(addr string) (*zk.Conn, func()) {
	conn, _, err := zk.Connect([]string{addr}, lockTTL, zk.WithLogInfo(false))
	fail.If(err)
	return conn, conn.Close
}

// nodes lock by the least that a lock takes: a node, a look at the queue, and a watch of the node before.
func nodes(conn *zk.Conn, _ time.Duration) locking {
	return func(ctx context.Context, scope string) func(context.Context) {
		dir := "/bare" + scope
		create := func() (string, error) {
			return conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		}
		node, err := create()
		if errors.Is(err, zk.ErrNoNode) {
			for _, parent := range []string{"/bare", dir} {
				if _, err := conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
					fail.If(err)
				}
			}
			node, err = create()
		}
		fail.If(err)
		if err := fail.Caught(func() { awaitFirst(ctx, conn, dir, path.Base(node)) }); err != nil {
			fail.If(errors.Join(err, conn.Delete(node, -1)))
		}
		return func(context.Context) { fail.If(conn.Delete(node, -1)) }
	}
}

func awaitFirst(ctx context.Context, conn *zk.Conn, dir, name string) {
	for {
		names, _, err := conn.Children(dir)
		fail.If(err)
		slices.Sort(names)
		place := slices.Index(names, name)
		if place <= 0 {
			return
		}
		there, _, changed, err := conn.ExistsW(dir + "/" + names[place-1])
		if fail.If(err); !there {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			fail.If(ctx.Err())
		}
	}
}

type elastic struct {
	url    string
	client *http.Client
}

func dialElasticsearch(url string) (elastic, func()) {
	client := &http.Client{Transport: new(http.Transport)}
	return elastic{url, client}, client.CloseIdleConnections
}

// documents are locks that are there or not. Nobody waits for one.
func documents(e elastic, _ time.Duration) locking {
	return func(ctx context.Context, scope string) func(context.Context) {
		name := strings.TrimPrefix(scope, "/")
		e.send(ctx, http.MethodPut, "_create/"+name)
		return func(ctx context.Context) { e.send(ctx, http.MethodDelete, "_doc/"+name) }
	}
}

func (e elastic) send(ctx context.Context, method, path string) {
	req := fail.Must(http.NewRequestWithContext(ctx, method, e.url+"/bare/"+path, strings.NewReader("{}")))
	req.Header.Set("Content-Type", "application/json")
	resp := fail.Must(e.client.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		fail.If(fmt.Errorf("%s %s: %s", method, path, resp.Status))
	}
	fail.Must(io.Copy(io.Discard, resp.Body)) // so that the connection is used again
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// kind is a lock of the project's in a service, beside the requests that a lock takes there
// at the least.
type kind struct {
	name   string
	bareIs string // what the bare requests are
	// start starts a server. where is how it is reached, in any process; lacks is not empty
	// where the server is missing, and says how to get it.
	start func(b *bench) (where, lacks string, err error)
	open  func(where string, ttl time.Duration) (backend lock.Backend, end func(), err error)
	bare  func(where string) (once func(context.Context) error, end func(), err error)
}

// kinds are those of all services.
func kinds() []*kind {
	list := []*kind{
		{"etcdlock", "Mutex of package concurrency, its session kept", launchEtcd, openEtcd, bareEtcd},
		{"redislock", "SET NX PX, and a script that compares and deletes", launchRedis, openRedis(), bareRedis},
		{"redislock, Fair", "the same", launchRedis, openRedis(redislock.Fair()), bareRedis},
	}
	for _, d := range databases {
		list = append(list, &kind{"sqllock in " + d.name, "two UPDATEs", d.start, d.open, d.bare})
	}
	return append(list,
		&kind{"zklock", "create, look at the queue, delete", launchZooKeeper, openZooKeeper, bareZooKeeper},
		&kind{"eslock", "create a document, delete it", launchElasticsearch, openElasticsearch, bareElasticsearch})
}

// onceBy locks and unlocks once.
func onceBy(take locking) func(context.Context) error {
	return func(ctx context.Context) error {
		unlock, err := take(ctx, "/lock")
		if err != nil {
			return err
		}
		return unlock(ctx)
	}
}

func launchEtcd(b *bench) (where, lacks string, err error) {
	dir := filepath.Join(b.group.Dir, "compared")
	etcd, err := b.start(func(addr string) []string { return []string{roleEtcd, addr, dir} })
	if err != nil {
		return "", "", err
	}
	load, err := dialEtcd(etcd.addr, 1) // it serves when it has a leader
	if err != nil {
		return "", "", err
	}
	return etcd.addr, "", load.client.Close()
}

func connectEtcd(where string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{where}, Logger: zap.NewNop()})
}

func openEtcd(where string, ttl time.Duration) (lock.Backend, func(), error) {
	client, err := connectEtcd(where)
	if err != nil {
		return nil, nil, err
	}
	backend, err := etcdlock.New(client, ttl)
	return backend, func() { client.Close() }, err
}

func bareEtcd(where string) (func(context.Context) error, func(), error) {
	client, err := connectEtcd(where)
	if err != nil {
		return nil, nil, err
	}
	once, err := byMutex(client, "/bare")
	return once, func() { client.Close() }, err
}

func launchRedis(b *bench) (where, lacks string, err error) {
	path := redisPath()
	if path == "" {
		return "", redisServer + " is not installed (apt-get install redis-server)", nil
	}
	s, err := b.redis(path)
	if err != nil {
		return "", "", err
	}
	return s.addr, "", nil
}

func openRedis(some ...redislock.Option) func(string, time.Duration) (lock.Backend, func(), error) {
	return func(where string, ttl time.Duration) (lock.Backend, func(), error) {
		client := connectRedis(where)
		backend, err := redislock.New(client, ttl, some...)
		return backend, func() { client.Close() }, err
	}
}

func bareRedis(where string) (func(context.Context) error, func(), error) {
	client := connectRedis(where)
	take, err := byCommands(client, lockTTL)
	return onceBy(take), func() { client.Close() }, err
}

func (d *database) start(b *bench) (where, lacks string, err error) {
	program := d.program()
	if program == "" {
		return "", d.missing, nil
	}
	driver, source, err := d.source(b, program)
	if err != nil {
		return "", "", err
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return "", "", err
	}
	err = sqllock.Create(context.Background(), db, d.locks)
	return driver + " " + source, "", errors.Join(err, db.Close())
}

// dial opens the database as start has it.
func (d *database) dial(where string) (*sql.DB, error) {
	driver, source, _ := strings.Cut(where, " ")
	return sql.Open(driver, source)
}

func (d *database) open(where string, ttl time.Duration) (lock.Backend, func(), error) {
	db, err := d.dial(where)
	if err != nil {
		return nil, nil, err
	}
	backend, err := sqllock.New(db, d.locks, ttl)
	return backend, func() { db.Close() }, err
}

func (d *database) bare(where string) (func(context.Context) error, func(), error) {
	db, err := d.dial(where)
	if err != nil {
		return nil, nil, err
	}
	take, err := byStatements(d, db, "/lock")
	return onceBy(take), func() { db.Close() }, err
}

// javaTimeout is how long a server may take to serve that is a process of Java.
const javaTimeout = 3 * time.Minute

func launchZooKeeper(b *bench) (where, lacks string, err error) {
	if found, bring := zkproc.Found(); found == "" {
		return "", "ZooKeeper is missing (" + bring + ")", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), javaTimeout)
	defer cancel()
	cluster, err := zkproc.Start(ctx, b.group, 1)
	if err != nil {
		return "", "", err
	}
	return strings.Join(cluster.Endpoints(), ","), "", nil
}

func openZooKeeper(where string, ttl time.Duration) (lock.Backend, func(), error) {
	backend, err := zklock.New(strings.Split(where, ","), ttl)
	if err != nil {
		return nil, nil, err
	}
	return backend, func() { backend.Close() }, nil
}

func bareZooKeeper(where string) (func(context.Context) error, func(), error) {
	conn, _, err := zk.Connect(strings.Split(where, ","), zkTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, nil, err
	}
	return onceBy(byRequests(conn)), conn.Close, nil
}

func launchElasticsearch(b *bench) (where, lacks string, err error) {
	if found, bring := esproc.Found(); found == "" {
		return "", "Elasticsearch is missing (" + bring + ")", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), javaTimeout)
	defer cancel()
	node, err := esproc.Start(ctx, b.group)
	if err != nil {
		return "", "", err
	}
	where = "http://" + node.Addr
	return where, "", eslock.Create(ctx, where)
}

func openElasticsearch(where string, ttl time.Duration) (lock.Backend, func(), error) {
	client := &http.Client{Transport: new(http.Transport)}
	backend, err := eslock.New(where, ttl, eslock.HTTP(client))
	return backend, client.CloseIdleConnections, err
}

// bareElasticsearch is the lock of a document that is there or not.
func bareElasticsearch(where string) (func(context.Context) error, func(), error) {
	client := &http.Client{Transport: new(http.Transport)}
	send := func(ctx context.Context, method, path string) error {
		req, err := http.NewRequestWithContext(ctx, method, where+"/bare/"+path, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			return fmt.Errorf("%s %s: %s", method, path, resp.Status)
		}
		_, err = io.Copy(io.Discard, resp.Body) // so that the connection is used again
		return err
	}
	return func(ctx context.Context) error {
		if err := send(ctx, http.MethodPut, "_create/lock"); err != nil {
			return err
		}
		return send(ctx, http.MethodDelete, "_doc/lock")
	}, client.CloseIdleConnections, nil
}

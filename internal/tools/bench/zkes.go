package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// The ways to lock in ZooKeeper and Elasticsearch.
var (
	byNodes  = with(dialZooKeeper, nodes)
	byESLock = with(dialElasticsearch, func(e elastic, ttl time.Duration) (locking, error) {
		return lockingBy(eslock.New(e.url, ttl, eslock.HTTP(e.client)))
	})
	byDocument = with(dialElasticsearch, documents)
)

func byZKLock(addr string, ttl time.Duration) (locking, func(), error) {
	backend, err := zklock.New([]string{addr}, ttl)
	if err != nil {
		return nil, nil, err
	}
	take, err := lockingBy(backend, nil)
	return take, func() { backend.Close() }, err
}

func dialZooKeeper(addr string) (*zk.Conn, func(), error) {
	conn, _, err := zk.Connect([]string{addr}, lockTTL, zk.WithLogInfo(false))
	if err != nil {
		return nil, nil, err
	}
	return conn, conn.Close, nil
}

// nodes lock by the least that a lock takes: a node, a look at the queue, and a watch of the
// node before.
func nodes(conn *zk.Conn, _ time.Duration) (locking, error) {
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		dir := "/bare" + scope
		node, err := conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			for _, parent := range []string{"/bare", dir} {
				if _, err := conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
					return nil, err
				}
			}
			node, err = conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		}
		if err != nil {
			return nil, err
		}
		free := func(context.Context) error { return conn.Delete(node, -1) }
		if err := awaitFirst(ctx, conn, dir, path.Base(node)); err != nil {
			return nil, errors.Join(err, free(ctx))
		}
		return free, nil
	}, nil
}

// awaitFirst returns when a node is the first of its queue.
func awaitFirst(ctx context.Context, conn *zk.Conn, dir, name string) error {
	for {
		names, _, err := conn.Children(dir)
		if err != nil {
			return err
		}
		slices.Sort(names)
		place := slices.Index(names, name)
		if place <= 0 {
			return nil
		}
		there, _, changed, err := conn.ExistsW(dir + "/" + names[place-1])
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// elastic is a client of Elasticsearch.
type elastic struct {
	url    string
	client *http.Client
}

func dialElasticsearch(url string) (elastic, func(), error) {
	client := &http.Client{Transport: new(http.Transport)}
	return elastic{url, client}, client.CloseIdleConnections, nil
}

// documents are locks that are there or not. Nobody waits for one.
func documents(e elastic, _ time.Duration) (locking, error) {
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		name := strings.TrimPrefix(scope, "/")
		free := func(ctx context.Context) error { return e.send(ctx, http.MethodDelete, "_doc/"+name) }
		return free, e.send(ctx, http.MethodPut, "_create/"+name)
	}, nil
}

func (e elastic) send(ctx context.Context, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, e.url+"/bare/"+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
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

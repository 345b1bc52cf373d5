package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/ports"
)

// roleEtcd is an etcd that syncs, unlike that of the lab.
const roleEtcd = "synced-etcd"

// serveEtcd serves one member with etcd's own defaults.
func serveEtcd(ctx context.Context, addr, dir string) error {
	peer, err := ports.Free(1)
	if err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	client, other := url.URL{Scheme: "http", Host: addr}, url.URL{Scheme: "http", Host: peer[0]}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{other}, []url.URL{other}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case err := <-e.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}

// etcdLoad is writers that share one client of etcd, as the goroutines of a
// service do. Each write is a transaction with one put, and no check.
type etcdLoad struct {
	client  *clientv3.Client
	writers int
	n       []int // of each writer, its next write
}

func dialEtcd(addr string, writers int) (*etcdLoad, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	l := &etcdLoad{client: client, writers: writers, n: make([]int, writers)}
	for i := range l.n {
		l.n[i] = i
	}
	// It serves when it has a leader.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := client.Get(ctx, "ready"); err != nil {
		client.Close()
		return nil, fmt.Errorf("etcd does not serve: %w", err)
	}
	return l, nil
}

// turn has the form of contender.turn.
func (l *etcdLoad) turn(d time.Duration) (int, time.Duration, error) {
	return takeTurn(l.writers, d, func(ctx context.Context, i int) error {
		key := appendKey(nil, l.n[i], fewKeys)
		l.n[i] += l.writers
		_, err := l.client.Txn(ctx).Then(clientv3.OpPut(string(key), value)).Commit()
		return err
	})
}

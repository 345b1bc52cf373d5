package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lockStore is a lock service that tells its size, and in which leases are renewed.
type lockStore struct {
	name  string
	start launcher
	open  opener // the project's lock
	of    string // what the size is of
	size  func(s *server) (int64, error)
	// leases begins leases at a server, one for each client, and returns how a client renews its
	// own, by the least that it takes.
	leases func(addr string) (renew func(ctx context.Context, client int) error, end func(), err error)
}

func lockStores() []lockStore {
	list := []lockStore{
		{"etcdlock", startEtcd, byEtcdlock, "file", sizeOfEtcd, etcdLeases},
		{"redislock", startRedis, byRedislock(), "memory", sizeOfRedis, redisLeases},
	}
	for _, d := range databases {
		list = append(list, lockStore{"sqllock in " + d.name, d.start, d.bySQLLock(), "file", d.sizeOfLocks, d.leases})
	}
	return append(list, lockStore{"eslock", startElasticsearch, byESLock, "file", sizeOfElasticsearch, documentLeases})
}

// renewals is how often a lease is renewed in the time of its TTL.
const renewals = 3

// longTTL is so long that nothing is renewed while sizes are taken.
const longTTL = time.Hour

// lockSizes measures what locks leave in a service, and how many leases it can renew.
func (b *bench) lockSizes() {
	sizes := b.report.table("Bytes a lock", fmt.Sprintf(
		"One Backend holds %s locks at the same time, of scopes of %d bytes, and then releases them. Before the sizes are taken each service drops what it keeps of the past.",
		thousands(float64(b.locks)), shortScope),
		"", "bytes of", "a lock that is held", "a lock that is free")
	rates := b.report.table("Renewals", fmt.Sprintf(
		"%d clients renew a lease each, again and again, by the least that a renewal takes. *locks*: how many can be held with a TTL of 10 s and of a minute, if the service has nothing else to do, and each lock has a lease of its own that is renewed %d times in its TTL. The locks of one Backend of etcdlock share one lease: for etcdlock read *Backends*.",
		manyClients, renewals),
		"", "renewals/s", "locks, TTL 10 s", "locks, TTL 60 s")
	for _, l := range lockStores() {
		err := b.inGroup(func() {
			s := b.launch(l.start)
			held, free := b.heldAndFree(l, s)
			sizes.add(l.name, l.of, number(held), number(free))
			renew, end, err := l.leases(s.addr)
			check(err)
			defer end()
			found := spreadOf(b.race(contender{l.name, working(manyClients, 1, renew), nil})[0].rates).median
			rates.add(l.name, thousands(found), thousands(found*10/renewals), thousands(found*60/renewals))
		})
		if lack, ok := errors.AsType[missing](err); ok {
			sizes.note += fmt.Sprintf(" Not measured is %s: %s.", l.name, lack)
			continue
		}
		check(of(l.name, err))
	}
}

// heldAndFree is how many bytes a lock takes while it is held, and afterwards.
func (b *bench) heldAndFree(l lockStore, s *server) (held, free float64) {
	take, end, err := l.open(s.addr, longTTL)
	check(err)
	defer end()
	before := must(l.size(s))
	unlock := make([]func(context.Context) error, b.locks)
	each := func(do func(i int) error) {
		var next [writers]int
		more := func(w int) bool { return next[w]*writers+w < b.locks }
		_, _, err := repeat(writers, more, func(w int) error {
			i := next[w]*writers + w
			next[w]++
			return do(i)
		})
		check(err)
	}
	grown := func() float64 { return float64(must(l.size(s))-before) / float64(b.locks) }
	each(func(i int) (err error) {
		unlock[i], err = take(context.Background(), mixed(i, shortScope))
		return err
	})
	held = grown()
	each(func(i int) error { return unlock[i](context.Background()) })
	return held, grown()
}

func sizeOfEtcd(s *server) (int64, error) {
	client, end, err := dialEtcd(s.addr)
	if err != nil {
		return 0, err
	}
	defer end()
	return etcdFile(client)
}

func etcdLeases(addr string) (func(context.Context, int) error, func(), error) {
	client, end, err := dialEtcd(addr)
	if err != nil {
		return nil, nil, err
	}
	var ids [manyClients]clientv3.LeaseID
	for i := range ids {
		granted, err := client.Grant(context.Background(), int64(lockTTL.Seconds()))
		if err != nil {
			return nil, end, err
		}
		ids[i] = granted.ID
	}
	return func(ctx context.Context, i int) error {
		_, err := client.KeepAliveOnce(ctx, ids[i])
		return err
	}, end, nil
}

func sizeOfRedis(s *server) (int64, error) {
	client := dialRedis(s.addr)
	defer client.Close()
	return redisMemory(client)
}

//go:embed redisrenew.lua
var renewSource string

var renewScript = redis.NewScript(renewSource)

func redisLeases(addr string) (func(context.Context, int) error, func(), error) {
	client := dialRedis(addr)
	for i := range manyClients {
		if err := client.Set(context.Background(), ownLock(i), value, lockTTL).Err(); err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
	}
	return func(ctx context.Context, i int) error {
		return owned(renewScript.Run(ctx, client, []string{ownLock(i)}, value, lockTTL.Milliseconds()).Bool())
	}, func() { client.Close() }, nil
}

func (d *database) sizeOfLocks(s *server) (int64, error) {
	db, end, err := dialDatabase(s.addr)
	if err != nil {
		return 0, err
	}
	defer end()
	if _, err := db.Exec(d.rewrite); err != nil {
		return 0, err
	}
	return d.sizeOf(db, "fence_locks")
}

func (d *database) leases(addr string) (func(context.Context, int) error, func(), error) {
	db, end, err := dialDatabase(addr)
	if err != nil {
		return nil, nil, err
	}
	renew := d.statement("UPDATE fence_locks SET expires = LATER WHERE scope = ? AND owner = ''")
	return func(ctx context.Context, i int) error {
		return owned(changes(ctx, db, renew, bareRow(ownLock(i))))
	}, end, nil
}

// sizeOfElasticsearch is what the index has on disk once the documents of before are merged away.
func sizeOfElasticsearch(s *server) (int64, error) {
	const index = "/fence-locks"
	for _, path := range []string{"/_refresh", "/_forcemerge?max_num_segments=1", "/_flush?force=true", "/_refresh"} {
		resp, err := http.Post(s.addr+index+path, "application/json", nil)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("%s: %s", path, resp.Status)
		}
	}
	resp, err := http.Get(s.addr + index + "/_segments") // other statistics are ten seconds old
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, found := range segmentSize.FindAllSubmatch(said, -1) {
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

var segmentSize = regexp.MustCompile(`"size_in_bytes":(\d+)`)

func documentLeases(addr string) (func(context.Context, int) error, func(), error) {
	e, end, err := dialElasticsearch(addr)
	return func(ctx context.Context, i int) error {
		return e.send(ctx, http.MethodPut, "_doc"+ownLock(i))
	}, end, err
}

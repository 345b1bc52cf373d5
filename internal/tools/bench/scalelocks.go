package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

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
		"%d clients renew a lease each, again and again, by the least that a renewal takes. *locks*: how many can be held, if the service has nothing else to do, and a lease is renewed %d times in its TTL. The locks of one Backend of etcdlock share one lease: for etcdlock read *Backends*.",
		manyClients, renewals),
		"", "renewals/s", "locks, TTL 10 s", "locks, TTL 60 s")
	for _, l := range sized() {
		sizes.note += lackOf(l.name, b.inGroup(func() {
			s := b.launch(l.start)
			held, free := b.heldAndFree(l, s)
			sizes.add(l.name, l.of, number(held), number(free))
			renew, end := l.leases(s.addr)
			defer end()
			found := spreadOf(b.race(contender{l.name, working(manyClients, 1, renew), nil})[0].rates).median
			rates.add(l.name, thousands(found), thousands(found*10/renewals), thousands(found*60/renewals))
		}))
	}
}

// heldAndFree is how many bytes a lock takes while it is held, and afterwards.
func (b *bench) heldAndFree(l kind, s *server) (held, free float64) {
	take, end := l.open(s.addr, longTTL)
	defer end()
	before := l.size(s)
	unlock := make([]func(context.Context), b.locks)
	grown := func() float64 { return float64(l.size(s)-before) / float64(b.locks) }
	eachOnce(writers, b.locks, func(i int) { unlock[i] = take(context.Background(), mixed(i, shortScope)) })
	held = grown()
	eachOnce(writers, b.locks, func(i int) { unlock[i](context.Background()) })
	return held, grown()
}

func sizeOfEtcd(s *server) int64 {
	client, end := dialEtcd(s.addr)
	defer end()
	return etcdFile(client)
}

func etcdLeases(addr string) (func(context.Context, int), func()) {
	client, end := dialEtcd(addr)
	var ids [manyClients]clientv3.LeaseID
	for i := range ids {
		ids[i] = fail.Must(client.Grant(context.Background(), int64(lockTTL.Seconds()))).ID
	}
	return func(ctx context.Context, i int) { fail.Must(client.KeepAliveOnce(ctx, ids[i])) }, end
}

func sizeOfRedis(s *server) int64 {
	client, end := dialRedis(s.addr)
	defer end()
	return redisMemory(client)
}

//go:embed redisrenew.lua
var renewSource string

var renewScript = redis.NewScript(renewSource)

func redisLeases(addr string) (func(context.Context, int), func()) {
	client, end := dialRedis(addr)
	for i := range manyClients {
		fail.If(client.Set(context.Background(), ownLock(i), value, lockTTL).Err())
	}
	return func(ctx context.Context, i int) {
		owned(fail.Must(renewScript.Run(ctx, client, []string{ownLock(i)}, value, lockTTL.Milliseconds()).Bool()))
	}, end
}

func (d *database) sizeOfLocks(s *server) int64 {
	db, end := dialDatabase(s.addr)
	defer end()
	fail.Must(db.Exec(d.rewrite))
	return d.sizeOf(db, "fence_locks")
}

func (d *database) leases(addr string) (func(context.Context, int), func()) {
	db, end := dialDatabase(addr)
	renew := d.statement("UPDATE fence_locks SET expires = LATER WHERE scope = ? AND owner = ''")
	return func(ctx context.Context, i int) {
		owned(changes(ctx, db, renew, bareRow(ownLock(i))))
	}, end
}

// sizeOfElasticsearch is what the index has on disk once the documents of before are merged away.
func sizeOfElasticsearch(s *server) (size int64) {
	const index = "/fence-locks"
	for _, path := range []string{"/_refresh", "/_forcemerge?max_num_segments=1", "/_flush?force=true", "/_refresh"} {
		resp := fail.Must(http.Post(s.addr+index+path, "application/json", nil))
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			fail.If(fmt.Errorf("%s: %s", path, resp.Status))
		}
	}
	resp := fail.Must(http.Get(s.addr + index + "/_segments")) // other statistics are ten seconds old
	defer resp.Body.Close()
	for _, found := range segmentSize.FindAllSubmatch(fail.Must(io.ReadAll(resp.Body)), -1) {
		size += fail.Must(strconv.ParseInt(string(found[1]), 10, 64))
	}
	return size
}

var segmentSize = regexp.MustCompile(`"size_in_bytes":(\d+)`)

func documentLeases(addr string) (func(context.Context, int), func()) {
	e, end := dialElasticsearch(addr)
	return func(ctx context.Context, i int) { e.send(ctx, http.MethodPut, "_doc"+ownLock(i)) }, end
}

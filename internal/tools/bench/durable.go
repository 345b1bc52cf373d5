package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// writers is how many write at once where writes are durable.
const writers = 64

// durable compares the engine bolt with etcd and with the disk.
func (b *bench) durable() {
	ours, etcd := b.boltStorage("bolt"), b.launch(startEtcd)
	bare := must(dial(ours.addr, writers, put(fewKeys, 1)))
	defer bare.close()
	clients := make([]*kvhttp.Client, writers)
	for i := range clients {
		clients[i] = kvhttp.NewClient("http://"+ours.addr, kvhttp.ClientOptions{})
		defer clients[i].Close()
	}
	byClient := writing(writers, func(ctx context.Context, i, n int) error {
		key := key(n, fewKeys)
		_, err := clients[i].Write(ctx, kv.Request{Claim: fence.Claim{Scope: key, Token: 34}}, key, value)
		return err
	})
	shared, end, err := dialEtcd(etcd.addr) // by all, as the goroutines of a service do
	check(err)
	defer end()
	byTxn := writing(writers, func(ctx context.Context, _, n int) error {
		_, err := shared.Txn(ctx).Then(clientv3.OpPut(key(n, fewKeys), value)).Commit() // no check
		return err
	})
	disk := must(os.Create(filepath.Join(b.group.Dir, "syncs")))
	defer disk.Close()
	results := b.race(
		contender{"storage, engine bolt, by its Go client", byClient, ours},
		contender{"storage, engine bolt, bare connections", bare.turn, ours},
		contender{"etcd, Txn with one put, by its Go client", byTxn, etcd},
		contender{"disk: 4 KiB appended, fdatasync", syncing(disk, true), nil},
		contender{"disk: 4 KiB in place, fdatasync", syncing(disk, false), nil})
	t := b.report.table("Durable, 64 writers",
		"Acknowledged writes of 1,000 keys, all synced to the same disk. *of etcd, of disk*: the rate as a part of that of etcd, and of the appended syncs, of the same round.",
		"", "writes/s", "of etcd", "of disk", "processor time a write of server, client")
	client, byHand, txn, appended, inPlace := results[0], results[1], results[2], results[3], results[4]
	t.compare(nil, results, txn, partOf,
		func(r, _ result) string { return partOf(r, appended) },
		func(r, _ result) string {
			if r.server[0] == 0 {
				return ""
			}
			return processorTime(r, r)
		})
	b.report.goal("durable, 64 writers, both by their Go clients: rate of etcd's", atLeast, 1, ratios(client.rates, txn.rates))
	b.report.goal("durable, 64 writers: rate of the disk's single syncs, appended", atLeast, 10, ratios(byHand.rates, appended.rates))
	b.report.goal("durable, 64 writers: rate of the disk's single syncs, in place", atLeast, 10, ratios(byHand.rates, inPlace.rates))
}

// syncing writes and syncs a block of a file after another by one writer: blocks that are
// appended, or the first one again and again, which a filesystem has less to do for.
func syncing(f *os.File, appended bool) work {
	block := make([]byte, 4096)
	return writing(1, func(_ context.Context, _, n int) error {
		if !appended {
			n = 0
		}
		if _, err := f.WriteAt(block, int64(n*len(block))); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return fmt.Errorf("fdatasync: %w", err)
		}
		return nil
	})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// writers is how many write at once where writes are durable.
const writers = 64

// durable compares the engine bolt with etcd and with the disk.
func (b *bench) durable() (err error) {
	ours, err := b.storage("--engine", "bolt", "--data", filepath.Join(b.group.Dir, "bolt"))
	if err != nil {
		return err
	}
	etcd, err := b.start(func(addr string) []string {
		return []string{roleEtcd, addr, filepath.Join(b.group.Dir, "etcd")}
	})
	if err != nil {
		return err
	}
	bare, err := dial(ours.addr, writers, put(fewKeys, 1))
	if err != nil {
		return err
	}
	defer bare.close()
	clients := dialClients(ours.addr, writers)
	defer clients.close()
	other, err := dialEtcd(etcd.addr, writers)
	if err != nil {
		return err
	}
	defer other.client.Close()
	disk, err := openSyncs(filepath.Join(b.group.Dir, "syncs"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	results, err := b.race(
		contender{"storage, engine bolt, by its Go client", clients.turn, ours},
		contender{"storage, engine bolt, bare connections", bare.turn, ours},
		contender{"etcd, Txn with one put, by its Go client", other.turn, etcd},
		contender{"disk: 4 KiB appended, fdatasync", disk.turn(true), nil},
		contender{"disk: 4 KiB in place, fdatasync", disk.turn(false), nil})
	if err != nil {
		return err
	}
	t := b.report.table("Durable, 64 writers",
		"Acknowledged writes of 1,000 keys, all synced to the same disk. *of etcd, of disk*: the rate as a part of that of etcd, and of the appended syncs, of the same round.",
		"", "writes/s", "of etcd", "of disk", "processor time a write of server, client")
	const byClient, byHand, etcdIs, appended, inPlace = 0, 1, 2, 3, 4
	for _, r := range results {
		used := micros(r.server) + ", " + micros(r.client)
		if r.server[0] == 0 {
			used = ""
		}
		t.add(r.name, rate(r.rates), ratios(r.rates, results[etcdIs].rates).String(), ratios(r.rates, results[appended].rates).String(), used)
	}
	b.report.goal("durable, 64 writers, both by their Go clients: rate of etcd's", atLeast, 1, ratios(results[byClient].rates, results[etcdIs].rates))
	b.report.goal("durable, 64 writers: rate of the disk's single syncs, appended", atLeast, 10, ratios(results[byHand].rates, results[appended].rates))
	b.report.goal("durable, 64 writers: rate of the disk's single syncs, in place", atLeast, 10, ratios(results[byHand].rates, results[inPlace].rates))
	return stop(ours, etcd)
}

// clients are writers with a client of the storage each.
type clients struct {
	each []*kvhttp.Client
	n    []int
}

func dialClients(addr string, writers int) *clients {
	c := &clients{n: make([]int, writers)}
	for i := range writers {
		c.each = append(c.each, kvhttp.NewClient("http://"+addr, kvhttp.ClientOptions{}))
		c.n[i] = i
	}
	return c
}

func (c *clients) close() {
	for _, each := range c.each {
		each.Close()
	}
}

// turn has the form of contender.turn.
func (c *clients) turn(d time.Duration) (int, time.Duration, error) {
	return takeTurn(len(c.each), d, func(ctx context.Context, i int) error {
		key := string(appendKey(nil, c.n[i], fewKeys))
		c.n[i] += len(c.each)
		_, err := c.each[i].Write(ctx, kv.Request{Claim: fence.Claim{Scope: key, Token: 34}}, key, value)
		return err
	})
}

// syncs is a file that is written and synced, block after block, by one writer.
type syncs struct {
	*os.File
	end int64
}

const block = 4096

func openSyncs(path string) (*syncs, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &syncs{File: f}, nil
}

// turn syncs appended blocks, or the first one again and again, which a
// filesystem has less to do for.
func (s *syncs) turn(appended bool) func(time.Duration) (int, time.Duration, error) {
	b := make([]byte, block)
	return func(d time.Duration) (n int, _ time.Duration, err error) {
		start := time.Now()
		for ; time.Since(start) < d; n++ {
			at := int64(0)
			if appended {
				at = s.end
				s.end += block
			}
			if _, err := s.WriteAt(b, at); err != nil {
				return 0, 0, err
			}
			if err := unix.Fdatasync(int(s.Fd())); err != nil {
				return 0, 0, fmt.Errorf("fdatasync: %w", err)
			}
		}
		return n, time.Since(start), nil
	}
}

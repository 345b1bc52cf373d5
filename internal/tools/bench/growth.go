package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

func (b *bench) growth() {
	t := b.report.table("From 1,000 to "+thousands(float64(b.many))+" keys",
		"Each key is its own lock and has its own mark; keys and values have 16 bytes. *cost*: time a write with many keys as a multiple of that with few. Memory is what the process has more with the keys than without, live heap without what the garbage collector keeps in reserve.",
		"", "writes/s, few keys", "writes/s, many keys", "cost", "bytes a key")
	b.growMemory(t)
	b.growEngine(t)
	b.growBolt(t)
}

// grown adds a comparison, few keys first, and of what a key takes how many bytes with many.
func (b *bench) grown(t *table, what string, results []result, bytes int64, of string) {
	few, many := results[0], results[1]
	t.add(what, rate(few.rates), rate(many.rates), timeOf(many, few), thousands(float64(bytes)/float64(b.many))+" of "+of)
	b.report.reach(goal{what: "cost of a write with " + thousands(float64(b.many)) + " keys, of that with 1,000", of: what, aim: atMost, want: 1.3}, many, few)
}

func (b *bench) growMemory(t *table) {
	few, many := b.storage(), b.storage()
	before := memoryOf(many, "VmRSS")
	send(many, 4, put(b.many, batchSize), (b.many+batchSize-1)/batchSize)
	after := memoryOf(many, "VmRSS")
	results := b.raceLoads(16, rival{"few keys", few, put(fewKeys, 1)}, rival{"many keys", many, put(b.many, 1)})
	b.grown(t, "memory, over HTTP, 16 connections", results, after-before, "memory")
}

// memoryOf is the memory that a process takes up, in bytes: now (VmRSS), or at the most (VmHWM).
func memoryOf(s *server, name string) int64 {
	text := field(s.status(), name)
	return fail.Must(strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)) << 10
}

// growEngine is the engine alone, in this process, by one goroutine.
func (b *bench) growEngine(t *table) {
	few, _ := fillMemory(fewKeys)
	many, heap := fillMemory(b.many)
	results := b.race(
		contender{"few keys", engineTurn(few, fewKeys), nil},
		contender{"many keys", engineTurn(many, b.many), nil})
	b.grown(t, "memory, the engine alone, no HTTP", results, heap, "live heap")
}

// fillMemory makes an engine with keys, and says how much heap it takes up.
func fillMemory(keys int) (_ kv.Engine, size int64) {
	before := heap()[0]
	m := kv.NewMemory(kv.Options{})
	for i := range keys {
		write(m, key(i, keys))
	}
	return m, heap()[0] - before
}

func write(e kv.Engine, key string) {
	fail.If(e.Write(context.Background(), kv.Request{Claim: fence.Claim{Scope: key, Token: 34}},
		kv.Op{Kind: kv.OpWrite, Key: key, Value: value}))
}

func engineTurn(e kv.Engine, keys int) work {
	const between = 1000 // looks at the clock
	next := 0
	return working(1, between, func(context.Context, int) {
		for range between {
			write(e, key(next, keys))
			next++
		}
	})
}

func (b *bench) growBolt(t *table) {
	b.fillBolt("few", fewKeys)
	disk := b.fillBolt("many", b.many)
	few := b.boltStorage("few")
	many, starts := b.startTimes("many")
	results := b.raceLoads(writers, rival{"few keys", few, put(fewKeys, 1)}, rival{"many keys", many, put(b.many, 1)})
	b.grown(t, "bolt, over HTTP, 64 connections", results, disk, "disk")
	b.report.table("Start with "+thousands(float64(b.many))+" keys", fmt.Sprintf(
		"Engine bolt, the file in the page cache, from exec to the first answer, which reads a key: %s ms (%d starts).",
		spreadOf(starts), len(starts)))
}

// boltWriters is how many writes share a transaction of the engine bolt at the most.
const boltWriters = 1024

// fillBolt makes a file with keys in a directory of the group, and says how large it is.
func (b *bench) fillBolt(dir string, keys int) (size int64) {
	dir = filepath.Join(b.group.Dir, dir)
	e := fail.Must(kv.OpenBolt(dir, kv.Options{}))
	// In the order of the keys, so that each transaction touches few pages.
	eachOnce(boltWriters, keys, func(n int) { write(e, name(n)) })
	fail.If(e.Close())
	for _, f := range fail.Must(os.ReadDir(dir)) {
		size += fail.Must(f.Info()).Size()
	}
	return size
}

// startTimes starts the storage on a file several times, and returns the last
// one, and the milliseconds that each start took.
func (b *bench) startTimes(dir string) (s *server, ms []float64) {
	for range b.starts {
		if s != nil {
			fail.If(s.Kill())
		}
		s = b.boltStorage(dir)
		c := kvhttp.NewClient("http://"+s.addr, kvhttp.ClientOptions{})
		fail.Must(c.Read(context.Background(), kv.Request{}, key(0, b.many)))
		ms = append(ms, milliseconds(time.Since(s.began)))
		c.Close()
	}
	return s, ms
}

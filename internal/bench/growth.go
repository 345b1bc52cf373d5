package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// growth compares few keys with many, each its own lock, with its mark.
func (b *bench) growth() error {
	t := b.report.table("From 1,000 to "+thousands(float64(b.many))+" keys",
		"Each key is its own lock and has its own mark; keys and values have 16 bytes. *cost*: time a write with many keys as a multiple of that with few, of the same round. Memory is what the process has more of with the keys than without; live heap is without what the garbage collector keeps in reserve.",
		"", "writes/s, few keys", "writes/s, many keys", "cost", "bytes a key")
	if err := b.growMemory(t); err != nil {
		return err
	}
	if err := b.growEngine(t); err != nil {
		return err
	}
	return b.growBolt(t)
}

// grown adds a comparison, few keys first.
func (b *bench) grown(t *table, what string, results []result, bytes string) {
	few, many := results[0], results[1]
	cost := ratios(few.rates, many.rates)
	t.add(what, rate(few.rates), rate(many.rates), cost.String(), bytes)
	b.report.goal("cost of a write with "+thousands(float64(b.many))+" keys, of that with 1,000: "+what, atMost, 1.3, cost)
}

func (b *bench) growMemory(t *table) error {
	few, err := b.storage()
	if err != nil {
		return err
	}
	many, err := b.storage()
	if err != nil {
		return err
	}
	before, err := memoryOf(many, "VmRSS")
	if err != nil {
		return err
	}
	fill, err := dial(many.addr, 4, put(b.many, batchSize))
	if err != nil {
		return err
	}
	defer fill.close()
	if _, err := fill.once((b.many + batchSize - 1) / batchSize); err != nil {
		return err
	}
	after, err := memoryOf(many, "VmRSS")
	if err != nil {
		return err
	}
	results, err := b.raceLoads(16, rival{"few keys", few, put(fewKeys, 1)}, rival{"many keys", many, put(b.many, 1)})
	if err != nil {
		return err
	}
	b.grown(t, "memory, over HTTP, 16 connections", results, perKey(after-before, b.many)+" of memory")
	return stop(few, many)
}

// memoryOf is the memory that a process takes up, in bytes: now (VmRSS), or at the
// most (VmHWM).
func memoryOf(s *server, name string) (int64, error) {
	text := field(s.status(), name)
	kib, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	return kib << 10, err
}

func perKey(bytes int64, keys int) string { return thousands(float64(bytes) / float64(keys)) }

// growEngine is the engine alone, in this process, by one goroutine.
func (b *bench) growEngine(t *table) error {
	few, _, err := fillMemory(fewKeys)
	if err != nil {
		return err
	}
	many, heap, err := fillMemory(b.many)
	if err != nil {
		return err
	}
	results, err := b.race(
		contender{"few keys", engineTurn(few, fewKeys), nil},
		contender{"many keys", engineTurn(many, b.many), nil})
	if err != nil {
		return err
	}
	b.grown(t, "memory, the engine alone, no HTTP", results, perKey(heap, b.many)+" of live heap")
	return nil
}

// fillMemory makes an engine with keys, and says how much heap it takes up.
func fillMemory(keys int) (_ kv.Engine, heap int64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := kv.NewMemory(kv.Options{})
	for i := range keys {
		if err := write(m, i, keys); err != nil {
			return nil, 0, err
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return m, int64(after.HeapAlloc) - int64(before.HeapAlloc), nil
}

func write(e kv.Engine, n, keys int) error {
	return writeKey(e, string(appendKey(nil, n, keys)))
}

func writeKey(e kv.Engine, key string) error {
	return e.Write(context.Background(), kv.Request{Claim: fence.Claim{Scope: key, Token: 34}},
		kv.Op{Kind: kv.OpWrite, Key: key, Value: value})
}

func engineTurn(e kv.Engine, keys int) func(time.Duration) (int, time.Duration, error) {
	const between = 1000 // looks at the clock
	next := 0
	return func(d time.Duration) (n int, _ time.Duration, err error) {
		start := time.Now()
		for time.Since(start) < d {
			for range between {
				if err := write(e, next, keys); err != nil {
					return 0, 0, err
				}
				next++
			}
			n += between
		}
		return n, time.Since(start), nil
	}
}

func (b *bench) growBolt(t *table) error {
	fewDir, manyDir := filepath.Join(b.group.Dir, "few"), filepath.Join(b.group.Dir, "many")
	if _, err := fillBolt(fewDir, fewKeys); err != nil {
		return err
	}
	disk, err := fillBolt(manyDir, b.many)
	if err != nil {
		return err
	}
	few, err := b.storage("--engine", "bolt", "--data", fewDir)
	if err != nil {
		return err
	}
	many, starts, err := b.startTimes(manyDir)
	if err != nil {
		return err
	}
	results, err := b.raceLoads(writers, rival{"few keys", few, put(fewKeys, 1)}, rival{"many keys", many, put(b.many, 1)})
	if err != nil {
		return err
	}
	b.grown(t, "bolt, over HTTP, 64 connections", results, perKey(disk, b.many)+" of disk")
	b.report.note("Start with "+thousands(float64(b.many))+" keys", fmt.Sprintf(
		"Engine bolt, the file in the page cache, from exec to the first answer, which reads a key: %s ms (%d starts).",
		spreadOf(starts), len(starts)))
	return stop(few, many)
}

// fillBolt makes a file with keys, and says how large it is.
func fillBolt(dir string, keys int) (size int64, err error) {
	e, err := kv.OpenBolt(dir, kv.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	// As many as share a transaction at the most, and in the order of the keys, so
	// that each touches few pages.
	const writers = 1024
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for n := w; n < keys && errs[w] == nil; n += writers {
				errs[w] = writeKey(e, string(appendName(nil, n)))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// startTimes starts the storage on a file several times, and returns the last
// one, and the milliseconds that each start took.
func (b *bench) startTimes(dir string) (s *server, ms []float64, err error) {
	for range b.starts {
		if err := stop(s); err != nil {
			return nil, nil, err
		}
		if s, err = b.storage("--engine", "bolt", "--data", dir); err != nil {
			return nil, nil, err
		}
		c := kvhttp.NewClient("http://"+s.addr, kvhttp.ClientOptions{})
		_, err := c.Read(context.Background(), kv.Request{}, string(appendKey(nil, 0, b.many)))
		ms = append(ms, float64(time.Since(s.began).Microseconds())/1000)
		c.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return s, ms, nil
}

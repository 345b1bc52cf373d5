package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// latencyConns is on how many connections requests wait for an answer.
const latencyConns = 64

// part of its highest rate at which a server's latency is taken.
const part = 0.7

// latencies measures how long writes take at a rate that a server can bear.
func (b *bench) latencies() error {
	noop, err := b.noop(roleNoop)
	if err != nil {
		return err
	}
	memory, err := b.storage()
	if err != nil {
		return err
	}
	bolt, err := b.storage("--engine", "bolt", "--data", filepath.Join(b.group.Dir, "latency"))
	if err != nil {
		return err
	}
	t := b.report.table("Latency at 70 % of the highest rate",
		"A write a request, 1,000 keys, 64 connections. Requests are due at even intervals whatever became of those before, and the time counts from when a request was due: one that waits behind a slow one counts as slow (no coordinated omission). Of several rounds in turns: the median, with the quartiles.",
		"", "highest, requests/s", "sent, requests/s", "p50, ms", "p99, ms", "p99.9, ms")
	rivals := []rival{{"no-op handler", noop, put(fewKeys, 1)}, {"memory", memory, put(fewKeys, 1)}, {"bolt", bolt, put(fewKeys, 1)}}
	highest := make([]float64, len(rivals))
	for i, r := range rivals {
		results, err := b.raceLoads(latencyConns, r)
		if err != nil {
			return err
		}
		highest[i] = spreadOf(results[0].rates).median
	}
	sent := make([][]float64, len(rivals))
	found := make([][len(quantiles)][]float64, len(rivals))
	for range latencyRounds {
		for i, r := range rivals {
			h, rate, err := paced(r, highest[i]*part, b.latency)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			sent[i] = append(sent[i], rate)
			for q, quantile := range quantiles {
				found[i][q] = append(found[i][q], float64(h.ValueAtQuantile(quantile))/1e6)
			}
		}
	}
	for i, r := range rivals {
		row := []string{r.name, thousands(highest[i]), thousands(spreadOf(sent[i]).median)}
		for q := range quantiles {
			row = append(row, spreadOf(found[i][q]).String())
		}
		t.add(row...)
	}
	return stop(noop, memory, bolt)
}

// quantiles are those that are told.
var quantiles = [...]float64{50, 99, 99.9}

// latencyRounds is how often each server has its turn: a neighbour's burst of work
// spoils one.
const latencyRounds = 5

// The histogram's range and precision.
const (
	shortest  = int64(time.Microsecond)
	longest   = int64(time.Minute)
	precision = 3 // digits
)

// paced sends requests that are due at even intervals, each on the next
// connection that is free, and says how long after they were due they were
// answered, and how many a second were.
func paced(r rival, perSecond float64, d time.Duration) (*hdrhistogram.Histogram, float64, error) {
	l, err := dial(r.server.addr, latencyConns, r.exchange)
	if err != nil {
		return nil, 0, err
	}
	defer l.close()
	total := int(perSecond * d.Seconds())
	due := make(chan time.Time, total) // all fit: to wait in it is part of the latency
	histograms := make([]*hdrhistogram.Histogram, len(l.conns))
	var g errgroup.Group
	for i, c := range l.conns {
		h := hdrhistogram.New(shortest, longest, precision)
		histograms[i] = h
		g.Go(func() error {
			for at := range due {
				if err := c.do(r.exchange, len(l.conns)); err != nil {
					return err
				}
				if err := h.RecordValue(int64(time.Since(at))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	start := time.Now()
	err = pace(start, time.Duration(float64(time.Second)/perSecond), total, due)
	close(due)
	err = errors.Join(err, g.Wait())
	took := time.Since(start)
	for _, h := range histograms[1:] {
		histograms[0].Merge(h)
	}
	return histograms[0], float64(total) / took.Seconds(), err
}

// pace sends the times at which n requests are due, when they are. It sleeps by
// the system's clock on a thread of its own: Go's timers may be late by a
// millisecond.
func pace(start time.Time, interval time.Duration, n int, due chan<- time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range n {
		at := start.Add(time.Duration(i) * interval)
		for left := time.Until(at); left > 0; left = time.Until(at) {
			ts := unix.NsecToTimespec(left.Nanoseconds())
			if err := unix.Nanosleep(&ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		due <- at
	}
	return nil
}

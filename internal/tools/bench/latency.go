package main

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// latencyConns is on how many connections requests wait for an answer.
const latencyConns = 64

// latencies measures how long writes take at a rate that a server can bear.
func (b *bench) latencies() {
	rivals := []rival{
		{"no-op handler", b.start(roleNoop), put(fewKeys, 1)},
		{"memory", b.storage(), put(fewKeys, 1)},
		{"bolt", b.boltStorage("latency"), put(fewKeys, 1)},
	}
	t := b.report.table("Latency at 70 % of the highest rate",
		"A write a request, 1,000 keys, 64 connections. Requests are due at even intervals, and the time counts from when a request was due (no coordinated omission).",
		"", "highest, requests/s", "sent, requests/s", "p50, ms", "p99, ms", "p99.9, ms")
	highest := make([]float64, len(rivals))
	for i, r := range rivals {
		highest[i] = spreadOf(b.raceLoads(latencyConns, r)[0].rates).median
	}
	sent := make([][]float64, len(rivals))
	found := make([][len(quantiles)][]float64, len(rivals))
	for range latencyRounds {
		for i, r := range rivals {
			named(r.name, fail.Caught(func() {
				took, rate := paced(r, highest[i]*0.7, b.latency)
				sent[i] = append(sent[i], rate)
				for q, percent := range quantiles {
					found[i][q] = append(found[i][q], quantile(took, percent))
				}
			}))
		}
	}
	for i, r := range rivals {
		row := []string{r.name, thousands(highest[i]), rate(sent[i])}
		for q := range quantiles {
			row = append(row, spreadOf(found[i][q]).String())
		}
		t.add(row...)
	}
}

var quantiles = [...]float64{50, 99, 99.9}

// latencyRounds is how often each server has its turn: a neighbour's burst of work spoils one.
const latencyRounds = 5

// paced sends requests that are due at even intervals, each on the next connection that is free, and says how
// many ms after they were due they were answered, and how many a second were.
func paced(r rival, perSecond float64, d time.Duration) ([]float64, float64) {
	l := dial(r.server.addr, latencyConns, r.exchange)
	defer l.close()
	total := int(perSecond * d.Seconds())
	due := make(chan time.Time, total) // all fit: to wait in it is part of the latency
	took := make([][]float64, len(l.conns))
	var g errgroup.Group
	for i := range l.conns {
		begin(&g, func() {
			for at := range due {
				l.send(i)
				took[i] = append(took[i], milliseconds(time.Since(at)))
			}
		})
	}
	start := time.Now()
	err := pace(start, time.Duration(float64(time.Second)/perSecond), total, due)
	close(due)
	fail.If(errors.Join(err, g.Wait()))
	return slices.Concat(took...), float64(total) / time.Since(start).Seconds()
}

// pace sends the times at which n requests are due, when they are. It sleeps by the system's clock on a
// thread of its own: Go's timers may be late by a millisecond.
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

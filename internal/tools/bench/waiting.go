package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// waitTTL is that of the lock for which clients wait. One that is longer has them ask less.
const waitTTL = 2 * time.Second

// waiting measures how often those who wait ask.
func (b *bench) waiting(told reads, ways ...way) {
	t := b.report.table("Waiting in Redis",
		fmt.Sprintf("Requests that Redis reads while one client keeps a lock, which redislock renews, and others wait for it, with a client each. The TTL is %v; with a longer one redislock asks less, and with a shorter one more. Polling is by the bare commands. *for each waiter*: the requests beyond those without waiters.", waitTTL),
		"waiters", "", "requests/s", "for each waiter")
	alone := make([]float64, len(ways))
	for _, waiters := range []int{0, 1, 16, 64} {
		for i, way := range ways {
			requests, err := b.wait(told, waiters, way)
			check(of(way.name, err))
			each := ""
			if waiters == 0 {
				alone[i] = requests
			} else {
				each = number((requests - alone[i]) / float64(waiters))
			}
			t.add(strconv.Itoa(waiters), way.name, number(requests), each)
		}
	}
}

// wait has one client keep a lock while others wait for it, and returns the requests a
// second of all of them.
func (b *bench) wait(told reads, waiters int, way way) (perSecond float64, err error) {
	const scope = "/waiting"
	p, err := way.gather(1 + waiters)
	defer p.close()
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	unlock, err := p.locks[0](ctx, scope)
	if err != nil {
		return 0, err
	}
	var g errgroup.Group
	for _, take := range p.locks[1:] {
		g.Go(func() error {
			unlock, err := take(ctx, scope)
			switch {
			case err == nil:
				return errors.Join(errNotOurs, unlock(context.Background()))
			case ctx.Err() != nil:
				return nil
			}
			return err
		})
	}
	time.Sleep(b.turn) // to warm up
	before, err := told(ctx)
	start := time.Now()
	time.Sleep(b.latency)
	requests, failed := told.since(ctx, before)
	took := time.Since(start)
	stop()
	err = errors.Join(err, failed, g.Wait(), unlock(context.Background()))
	return float64(requests) / took.Seconds(), err
}

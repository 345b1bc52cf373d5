package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// wantRedisLocks is the goal: redislock takes at most so many times the time of the bare
// commands.
const wantRedisLocks = 1.15

// inRedis measures what the project does in Redis: locks, and fenced writes.
func (b *bench) inRedis() error {
	path := redisPath()
	if path == "" {
		b.report.note("Locks and fenced writes in Redis", noRedis)
		return nil
	}
	s, err := b.redis(path)
	if err != nil {
		return err
	}
	for _, do := range []func(*server) error{b.redisLocks, b.handOver, b.waiting, b.fencedWrites} {
		if err := do(s); err != nil {
			return err
		}
	}
	return stop(s)
}

// locking takes the lock of a scope, and waits for it. unlock gives it back.
type locking func(ctx context.Context, scope string) (unlock func(context.Context) error, err error)

// lockingBy locks by a backend.
func lockingBy(b lock.Backend) locking {
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		tenure, err := b.Lock(ctx, scope)
		if err != nil {
			return nil, err
		}
		return tenure.Unlock, nil
	}
}

// redisLock is a way to lock in Redis, with a TTL.
type redisLock struct {
	name string
	by   func(client *redis.Client, ttl time.Duration) (locking, error)
}

const bareCommands = "bare commands"

// redisLocks compares redislock with the commands that lock, and with other libraries.
func (b *bench) redisLocks(s *server) error {
	t := b.report.table("Lock and unlock in Redis",
		"A free lock is taken and given back at once: by redislock; by SET NX PX and a script that compares and deletes, which is the least that a lock takes; and by two libraries that do that. All use go-redis, and each client has a connection and a lock of its own. *of the bare commands*: the time that a lock and its unlock take as a part of theirs, of the same round. *by processor time*: the same, by the time that Redis and client took on the processor.",
		"clients", "", "locks/s", "of the bare commands, time", "by processor time", "processor time a lock of Redis, client")
	for _, clients := range []int{1, 16} {
		results, err := b.raceRedisLocks(s, clients,
			redisLock{"redislock", byRedislock()},
			redisLock{bareCommands, byCommands},
			redisLock{"redsync 4.18.0", byRedsync},
			redisLock{"bsm/redislock 0.9.4", byBsm})
		if err != nil {
			return err
		}
		ours, bare := results[0], results[1]
		t.compareTimes(clients, results, bare)
		b.report.goal(fmt.Sprintf("lock and unlock in Redis, clients: %d; time of the bare commands'", clients),
			atMost, wantRedisLocks, ratios(bare.rates, ours.rates))
	}
	return nil
}

// raceRedisLocks has clients lock and unlock in each way.
func (b *bench) raceRedisLocks(s *server, clients int, ways ...redisLock) ([]result, error) {
	var cs []contender
	for _, way := range ways {
		p, err := gather(s.addr, clients, lockTTL, way, false)
		defer p.close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		cs = append(cs, contender{way.name, p.turn, s})
	}
	return b.race(cs...)
}

// party is clients of Redis that lock, and wait.
type party struct {
	clients []*redis.Client
	locks   []locking
}

// gather makes a party whose members have a client each, or share one.
func gather(addr string, members int, ttl time.Duration, way redisLock, shared bool) (p party, err error) {
	for i := range members {
		if i > 0 && shared {
			p.locks = append(p.locks, p.locks[0])
			continue
		}
		client := connectRedis(addr)
		p.clients = append(p.clients, client)
		take, err := way.by(client, ttl)
		if err != nil {
			return p, err
		}
		p.locks = append(p.locks, take)
	}
	return p, nil
}

// turn has each member lock and unlock a lock of its own. It has the form of
// contender.turn.
func (p party) turn(d time.Duration) (int, time.Duration, error) {
	return takeTurn(len(p.locks), d, func(ctx context.Context, i int) error {
		unlock, err := p.locks[i](ctx, ownLock(i))
		if err != nil {
			return err
		}
		return unlock(ctx)
	})
}

func (p party) close() {
	for _, c := range p.clients {
		c.Close()
	}
}

// connectRedis makes a client that sends nothing twice.
func connectRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
}

func byRedislock(some ...redislock.Option) func(*redis.Client, time.Duration) (locking, error) {
	return func(client *redis.Client, ttl time.Duration) (locking, error) {
		backend, err := redislock.New(client, ttl, some...)
		return lockingBy(backend), err
	}
}

// poll is how often who uses the bare commands asks for a lock that is taken.
const poll = 100 * time.Millisecond

//go:embed redisunlock.lua
var unlockSource string

var unlockScript = redis.NewScript(unlockSource)

// errNotOurs is why an unlock fails.
var errNotOurs = errors.New("the lock was another's")

// byCommands locks by the bare commands. One that has to wait asks every poll; its first
// pause is any part of that, so that nobody asks in step with the holder.
func byCommands(client *redis.Client, ttl time.Duration) (locking, error) {
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		value := rand.Text()
		for pause := mathrand.N(poll); ; pause = poll {
			taken, err := client.SetNX(ctx, scope, value, ttl).Result()
			if err != nil {
				return nil, err
			}
			if taken {
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return func(ctx context.Context) error {
			ours, err := unlockScript.Run(ctx, client, []string{scope}, value).Bool()
			if err == nil && !ours {
				err = errNotOurs
			}
			return err
		}, nil
	}, nil
}

func byRedsync(client *redis.Client, ttl time.Duration) (locking, error) {
	pool := redsync.New(goredis.NewPool(client))
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		mutex := pool.NewMutex(scope, redsync.WithExpiry(ttl))
		if err := mutex.LockContext(ctx); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			ours, err := mutex.UnlockContext(ctx)
			if err == nil && !ours {
				err = errNotOurs
			}
			return err
		}, nil
	}, nil
}

func byBsm(client *redis.Client, ttl time.Duration) (locking, error) {
	locker := bsm.New(client)
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		l, err := locker.Obtain(ctx, scope, ttl, nil)
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}, nil
}

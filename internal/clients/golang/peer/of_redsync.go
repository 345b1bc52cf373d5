package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redsyncs are mutexes of redsync, on one node or several. The TTL is their expiry.
type redsyncs struct {
	nodes
	of      *redsync.Redsync
	ttl     time.Duration
	extends bool
	options []redsync.Option
}

func openRedsync(s settings) (locks, error) {
	all, err := connect(s, true)
	pools := make([]syncredis.Pool, len(all))
	for i, node := range all {
		pools[i] = goredis.NewPool(node)
	}
	r := &redsyncs{nodes: all, of: redsync.New(pools...), ttl: s.ttl, extends: s.by != "redsync", options: []redsync.Option{redsync.WithExpiry(s.ttl)}}
	if s.by == "redsync-setnx" {
		r.options = append(r.options, redsync.WithSetNXOnExtend())
	}
	return r, err
}

// longest is how often a waiter asks at most: the library cannot be told to wait until the context is done.
const longest = 1 << 30

func (r *redsyncs) lock(ctx context.Context, name string, once bool) (tenure, error) {
	tries := longest
	if once {
		tries = 1
	}
	mutex := r.of.NewMutex(name, slices.Concat(r.options, []redsync.Option{redsync.WithTries(tries)})...)
	err := mutex.LockContext(ctx)
	if errors.As(err, new(*redsync.ErrTaken)) || errors.Is(err, redsync.ErrFailed) {
		return nil, errRefused
	}
	if err != nil {
		return nil, err
	}
	return redsyncTenure{mutex, r.extends}, nil
}

type redsyncTenure struct {
	*redsync.Mutex
	extends bool
}

func (t redsyncTenure) name() (string, int64) { return t.Value(), 0 }

// held asks by Extend where the program renews the lock, as the library renews nothing by itself.
func (t redsyncTenure) held(ctx context.Context) (bool, error) {
	ask := t.ValidContext //lint:ignore SA1019 Until asks no Redis.
	if t.extends {
		ask = t.ExtendContext
	}
	yes, err := ask(ctx)
	if errors.As(err, new(*redsync.ErrTaken)) {
		return false, nil
	}
	return yes, err
}

func (t redsyncTenure) acquired() (bool, error) { return time.Now().Before(t.Until()), nil }

func (t redsyncTenure) unlock(ctx context.Context) error {
	_, err := t.UnlockContext(ctx)
	if errors.As(err, new(*redsync.ErrTaken)) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return over{err}
	}
	return err
}

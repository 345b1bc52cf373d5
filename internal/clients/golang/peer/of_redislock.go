package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
)

// redislocks are locks of bsm/redislock. The TTL is theirs.
type redislocks struct {
	nodes
	of        *redislock.Client
	ttl       time.Duration
	refreshes bool
}

func openRedislock(s settings) (locks, error) {
	all, err := connect(s, false)
	if err != nil {
		return nil, err
	}
	return &redislocks{all, redislock.New(all[0]), s.ttl, s.by == "bsm-redislock-refreshed"}, nil
}

// asksAgain is after what time a waiter asks again.
const asksAgain = 100 * time.Millisecond

func (r *redislocks) lock(ctx context.Context, name string, once bool) (tenure, error) {
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(asksAgain)}
	if once {
		options.RetryStrategy = redislock.NoRetry()
	}
	lock, err := r.of.Obtain(ctx, name, r.ttl, options)
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded) && !once {
		return nil, errRefused
	}
	if err != nil {
		return nil, err
	}
	return redislockTenure{lock, r}, nil
}

type redislockTenure struct {
	lock *redislock.Lock
	of   *redislocks
}

func (t redislockTenure) name() (string, int64) { return t.lock.Token(), 0 }

// held asks by Refresh where the program renews the lock, as the library renews nothing by itself.
func (t redislockTenure) held(ctx context.Context) (bool, error) {
	if t.of.refreshes {
		err := t.lock.Refresh(ctx, t.of.ttl, nil)
		if errors.Is(err, redislock.ErrNotObtained) {
			return false, nil
		}
		return err == nil, err
	}
	left, err := t.lock.TTL(ctx)
	return left > 0, err
}

func (t redislockTenure) acquired() (bool, error) { return false, errRefused }

func (t redislockTenure) unlock(ctx context.Context) error {
	err := t.lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return over{err}
	}
	return err
}

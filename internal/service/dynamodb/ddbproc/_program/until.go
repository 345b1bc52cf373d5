package main

import (
	"context"
	"time"
)

// untilTenure is an item that says when its lease is over, by its holder's clock.
type untilTenure struct {
	of   *itemLocks
	lock string
	is   item
	ends time.Time // when the lease is over, if it is not renewed
}

// clock is what the client's clock says, in milliseconds since 1970.
func (l *itemLocks) clock() int64 { return time.Now().Add(l.ahead).UnixMilli() }

// tryUntil asks once, in one request. Where an earlier attempt has written the item, and was not answered, the lease is
// renewed.
func (l *itemLocks) tryUntil(ctx context.Context, name, owner string) (tenure, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asksWithin)
	defer cancel()
	t := &untilTenure{of: l, lock: name, ends: time.Now().Add(l.ttl)}
	now := l.clock()
	is, err := l.claim(ctx, name, owner, now, now+l.ttl.Milliseconds())
	if changed(err) {
		is, err = l.extend(ctx, name, owner, now+l.ttl.Milliseconds())
	}
	t.is = is
	return t, err
}

func (t *untilTenure) name() (string, int64) { return t.is.owner, t.is.token }

// held renews the lease, unless it is over.
func (t *untilTenure) held(ctx context.Context) (bool, error) {
	began := time.Now()
	if began.After(t.ends) {
		return false, nil
	}
	_, err := t.of.extend(ctx, t.lock, t.is.owner, t.of.clock()+t.of.ttl.Milliseconds())
	if changed(err) {
		return false, nil
	}
	if err == nil {
		t.ends = began.Add(t.of.ttl)
	}
	return err == nil, err
}

func (t *untilTenure) acquired() (bool, error) { return false, errRefused }

func (t *untilTenure) unlock(ctx context.Context) error {
	_, err := t.of.extend(ctx, t.lock, t.is.owner, 0)
	return overIf(err)
}

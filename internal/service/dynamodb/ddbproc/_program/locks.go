package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// The recipes.
const (
	byLease          = "lease"
	byLeaseOverwrite = "lease-overwrite"
	byLeaseDelete    = "lease-delete"
	byLeaseDeleteAny = "lease-delete-any"
	byLeaseUntil     = "lease-until"
	byCreate         = "create"
)

// asksAgain is after what time a waiter asks again.
const asksAgain = 100 * time.Millisecond

// itemLocks are the locks of one client. The item of a lock names its holder.
type itemLocks struct {
	settings
	items

	mu   sync.Mutex
	seen map[string]seen // since when an item is as it is
}

// seen is an item that a waiter looks at.
type seen struct {
	version string
	since   time.Time
}

func openItems(s settings) (locks, error) {
	return &itemLocks{settings: s, items: connect(s.endpoints[0]), seen: make(map[string]seen)}, nil
}

func (l *itemLocks) close() error { return nil }

func (l *itemLocks) lock(ctx context.Context, name string, once bool) (tenure, error) {
	return l.lockAs(ctx, name, rand.Text(), once)
}

func (l *itemLocks) lockAs(ctx context.Context, name, owner string, once bool) (tenure, error) {
	end := time.Now().Add(l.timeout) // of the time in which the server has to answer
	var unsure error                 // why it is not known what became of an attempt
	try := l.try
	if l.by == byLeaseUntil {
		try = l.tryUntil
	}
	for {
		t, err := try(ctx, name, owner)
		if err == nil {
			return t, nil
		}
		answered := errors.Is(err, errRefused) || changed(err)
		if answered {
			end = time.Now().Add(l.timeout)
		} else {
			unsure = err
		}
		if once && answered || ctx.Err() != nil || time.Now().After(end) {
			return nil, cmp.Or(unsure, errRefused)
		}
		select {
		case <-ctx.Done():
		case <-time.After(asksAgain):
		}
	}
}

// try asks once. Where an earlier attempt has written the item, and was not answered, it is written once more.
func (l *itemLocks) try(ctx context.Context, name, owner string) (tenure, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asksWithin)
	defer cancel()
	is, err := l.read(ctx, name)
	if err != nil {
		return nil, err
	}
	next := item{owner: owner, token: is.token}
	if is.owner != owner {
		if is.owner != "" && !l.over(name, is) {
			return nil, errRefused
		}
		if l.by != byCreate {
			next.token++
		}
	}
	t := &itemTenure{of: l, lock: name, is: next}
	return t, t.renew(ctx, is.asRead())
}

// over reports whether nobody has the lock of an item: it says so, or it was the same for as long as its lease lasts.
func (l *itemLocks) over(name string, is item) bool {
	if is.released {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[name].version != is.version {
		l.seen[name] = seen{is.version, time.Now()}
	}
	return is.lease > 0 && time.Since(l.seen[name].since) >= is.lease
}

// itemTenure is an item with the tenure's name.
type itemTenure struct {
	of   *itemLocks
	lock string
	is   item      // as the holder wrote it last
	ends time.Time // when the lease is over, if it is not renewed
}

func (t *itemTenure) name() (string, int64) { return t.is.owner, t.is.token }

// errGone says that the item is gone, or another tenure's.
var errGone = errors.New("the item is gone, or another one's")

// held renews the lease, where there is one, unless it is over.
func (t *itemTenure) held(ctx context.Context) (bool, error) {
	var err error
	switch {
	case t.of.by == byCreate:
		err = t.read(ctx)
	case t.of.by == byLeaseOverwrite:
		err = t.renew(ctx, whateverIsThere)
	case time.Now().After(t.ends):
		err = errGone
	default:
		err = t.own(ctx, func() error { return t.renew(ctx, t.is.asRead()) })
	}
	if errors.Is(err, errGone) {
		return false, nil
	}
	return err == nil, err
}

// renew writes the item with a new version number, if a condition is true of the one that is there.
func (t *itemTenure) renew(ctx context.Context, on condition) error {
	next, ends := t.is, time.Now().Add(t.of.ttl)
	next.version = rand.Text()
	if t.of.by != byCreate {
		next.lease = t.of.ttl
	}
	err := t.of.write(ctx, t.lock, next, on)
	if err == nil {
		t.is, t.ends = next, ends
	}
	return err
}

// own does something if the item is as the holder wrote it. If it is not, an answer was lost, and the item has the tenure's
// name, or the tenure is over.
func (t *itemTenure) own(ctx context.Context, do func() error) error {
	if err := do(); !changed(err) {
		return err
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	return do()
}

// read finds out how the item is. errGone: it is not the tenure's.
func (t *itemTenure) read(ctx context.Context) error {
	is, err := t.of.read(ctx, t.lock)
	if err == nil && is.owner != t.is.owner {
		err = errGone
	}
	if err == nil {
		t.is = is
	}
	return err
}

func (t *itemTenure) acquired() (bool, error) { return false, errRefused }

func (t *itemTenure) unlock(ctx context.Context) error {
	var err error
	switch t.of.by {
	case byLeaseDeleteAny:
		return t.of.remove(ctx, t.lock, whateverIsThere)
	case byLeaseDelete, byCreate:
		err = t.own(ctx, func() error { return t.of.remove(ctx, t.lock, t.is.asRead()) })
	default: // the item stays, with the token
		err = t.own(ctx, func() error {
			free := t.is
			free.version, free.released = rand.Text(), true
			return t.of.write(ctx, t.lock, free, t.is.asRead())
		})
	}
	return overIf(err)
}

// overIf says of an error that the tenure was over, if it says so.
func overIf(err error) error {
	if errors.Is(err, errGone) || changed(err) {
		return over{err}
	}
	return err
}

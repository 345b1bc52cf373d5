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
	byLeaseWatched   = "lease-watched"
	byLeaseOverwrite = "lease-overwrite"
	byLeaseDelete    = "lease-delete"
	byLeaseDeleteAny = "lease-delete-any"
	byCreate         = "create"
)

// asksAgain is after what time a waiter asks again.
const asksAgain = 100 * time.Millisecond

// objectLocks are the locks of one client. The object of a lock names its holder.
type objectLocks struct {
	settings
	objects

	mu   sync.Mutex
	seen map[string]seen // by lease-watched: since when an object is as it is
}

// seen is an object that a waiter looks at.
type seen struct {
	etag  string
	since time.Time
}

func openObjects(s settings) (locks, error) {
	return &objectLocks{settings: s, objects: connect(s.endpoints[0]), seen: make(map[string]seen)}, nil
}

func (l *objectLocks) close() error { return nil }

func (l *objectLocks) lock(ctx context.Context, name string, once bool) (tenure, error) {
	return l.lockAs(ctx, name, rand.Text(), once)
}

func (l *objectLocks) lockAs(ctx context.Context, name, owner string, once bool) (tenure, error) {
	end := time.Now().Add(l.timeout) // of the time in which the server has to answer
	var unsure error                 // why it is not known what became of an attempt
	for {
		t, err := l.try(ctx, name, owner)
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

// try asks once. Where an earlier attempt has written the object, and was not answered, it is written once more.
func (l *objectLocks) try(ctx context.Context, name, owner string) (tenure, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asksWithin)
	defer cancel()
	is, err := l.read(ctx, name)
	if err != nil {
		return nil, err
	}
	next := content{Owner: owner, Token: is.Token}
	if is.Owner != owner {
		if is.Owner != "" && !l.over(name, is) {
			return nil, errRefused
		}
		if l.by != byCreate {
			next.Token++
		}
	}
	t := &objectTenure{of: l, lock: name, is: object{content: next}}
	return t, t.renew(ctx, is.etag)
}

// over reports whether the lease of an object is over: by the client's clock, or because the object was the same for so long.
func (l *objectLocks) over(name string, is object) bool {
	if is.Lease == 0 {
		return !is.Until.IsZero() && time.Now().Add(l.ahead).After(is.Until)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[name].etag != is.etag {
		l.seen[name] = seen{is.etag, time.Now()}
	}
	return time.Since(l.seen[name].since) >= time.Duration(is.Lease)*time.Millisecond
}

// objectTenure is an object with the tenure's name.
type objectTenure struct {
	of   *objectLocks
	lock string
	is   object    // as the holder wrote it last
	ends time.Time // when the lease is over, if it is not renewed
}

func (t *objectTenure) name() (string, int64) { return t.is.Owner, t.is.Token }

// errGone says that the object is gone, or another tenure's.
var errGone = errors.New("the object is gone, or another one's")

// held renews the lease, where there is one, unless it is over.
func (t *objectTenure) held(ctx context.Context) (bool, error) {
	var err error
	switch {
	case t.of.by == byCreate:
		err = t.read(ctx)
	case t.of.by == byLeaseOverwrite:
		err = t.renew(ctx, whateverIsThere)
	case time.Now().After(t.ends):
		err = errGone
	default:
		err = t.own(ctx, func() error { return t.renew(ctx, t.is.etag) })
	}
	if errors.Is(err, errGone) {
		return false, nil
	}
	return err == nil, err
}

// renew writes the object with a new lease, if the one that is there has an ETag.
func (t *objectTenure) renew(ctx context.Context, etag string) error {
	next, ends := t.is.content, time.Now().Add(t.of.ttl)
	switch t.of.by {
	case byCreate:
	case byLeaseWatched:
		next.Lease = t.of.ttl.Milliseconds()
		next.Renewals++
	default:
		next.Until = ends.Add(t.of.ahead)
	}
	is, err := t.of.write(ctx, t.lock, next, etag)
	if err == nil {
		t.is, t.ends = is, ends
	}
	return err
}

// own does something if the object is as the holder wrote it. If it is not, an answer was lost, and the object has the
// tenure's name, or the tenure is over.
func (t *objectTenure) own(ctx context.Context, do func() error) error {
	if err := do(); !changed(err) {
		return err
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	return do()
}

// read finds out how the object is. errGone: it is not the tenure's.
func (t *objectTenure) read(ctx context.Context) error {
	is, err := t.of.read(ctx, t.lock)
	if err == nil && is.Owner != t.is.Owner {
		err = errGone
	}
	if err == nil {
		t.is = is
	}
	return err
}

func (t *objectTenure) acquired() (bool, error) { return false, errRefused }

func (t *objectTenure) unlock(ctx context.Context) error {
	var err error
	switch t.of.by {
	case byLeaseDeleteAny:
		return t.of.remove(ctx, t.lock, whateverIsThere)
	case byLeaseDelete, byCreate:
		err = t.own(ctx, func() error { return t.of.remove(ctx, t.lock, t.is.etag) })
	default: // the object stays, with the token
		err = t.own(ctx, func() error {
			_, err := t.of.write(ctx, t.lock, content{Token: t.is.Token}, t.is.etag)
			return err
		})
	}
	if errors.Is(err, errGone) || changed(err) {
		return over{err}
	}
	return err
}

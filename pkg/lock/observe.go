package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Observer is told what becomes of locks: see Observe. The packages below
// pkg/observe have observers for logs, metrics and traces.
type Observer interface {
	// Observe takes in an event. It returns at once, because what the event tells of
	// waits for it, be it a call or the next renewal. It does not use the Backend or
	// the Tenure that the event is about. It does not panic; if it does as it is told of
	// Granted, the lock is freed.
	//
	// ctx is the call's context. Where the backend does something of its own accord, it
	// is that of the call which got the lock, and is never done.
	//
	// Any number of calls of Observe may go on at once. Those about one tenure come one
	// after the other: Granted is the first, and Lost or Released the last.
	Observe(ctx context.Context, e Event)
}

// Event is something that became of a lock.
type Event struct {
	Kind EventKind
	// Op is the call that the event is about: "lock", "trylock", "rlock", "tryrlock",
	// "extend" or "unlock". It is empty where the backend did something of its own
	// accord.
	Op    string
	Scope string
	Grant Grant // zero in Asked and NotGranted
	Err   error // nil in Asked, Granted and Renewed
	// Took is how long it took: the attempt in Granted and NotGranted; the answer in
	// Renewed and RenewalFailed, where the backend knows it; the whole tenure in Lost
	// and Released.
	Took time.Duration
}

// EventKind is a kind of Event.
type EventKind uint8

// The kinds of events. Each Asked is followed by Granted or NotGranted, and each Granted, in
// the end, by Lost or Released.
const (
	// Asked: a call begins that wants the lock.
	Asked EventKind = iota + 1
	// Granted: it has got the lock.
	Granted
	// NotGranted: it has not, and Err says why. ErrLocked is the usual answer to
	// TryLock where others hold the lock.
	NotGranted
	// Renewed: the lock service has made the lease longer.
	Renewed
	// RenewalFailed: nobody knows that the lock service has made the lease longer. The
	// tenure goes on for now, and is lost if this goes on until the lease is over.
	RenewalFailed
	// Lost: the tenure was over before it was unlocked. Err is what Tenure.Err says, or
	// the Unlock that found it out.
	Lost
	// Released: Unlock has freed the lock. With an *UnknownError it may not have.
	Released
)

// String returns "asked", "granted", "not granted", "renewed", "renewal failed", "lost"
// or "released".
func (k EventKind) String() string {
	switch k {
	case Asked:
		return "asked"
	case Granted:
		return "granted"
	case NotGranted:
		return "not granted"
	case Renewed:
		return "renewed"
	case RenewalFailed:
		return "renewal failed"
	case Lost:
		return "lost"
	case Released:
		return "released"
	}
	return "unknown"
}

// Renewer is a Tenure that tells how the backend's renewals of its lease go.
// Find it by assertion: t.(lock.Renewer).
type Renewer interface {
	// OnRenewal has f called after each renewal from now on, until the tenure is over.
	// took is how long the answer took, and 0 where the backend does not know. With an
	// error it is not known that the lease is longer. The next renewal may wait for f.
	//
	// A renewal by which the service says that the tenure is over is the end of the
	// tenure, of which Done tells.
	OnRenewal(f func(took time.Duration, err error))
}

// Observe returns a Backend that does what b does, and tells o of it. It is a Sharer and an
// Inspector where b is, and its tenures are Expirer, Extender, Extensible and Renewer where those of b are. They have
// no concrete type of b's. What is made of b in another way is not observed.
//
// Renewals are told where the tenures of b are Renewers; those of the packages below are.
// Calls of Extend are told as renewals. Reenter is for around Observe: Reenter(Observe(b, o))
// tells of the tenures, and Observe(Reenter(b), o) of each that holds them.
//
// An observed tenure has one more goroutine.
//
// Observe of package fence is another thing: it admits what a fence would refuse.
func Observe(b Backend, o Observer) Backend {
	all := observedBackend{b, o}
	s, shares := b.(Sharer)
	i, inspects := b.(Inspector)
	switch {
	case shares && inspects:
		return struct {
			observedSharer
			Inspector
		}{observedSharer{all, s}, i}
	case shares:
		return observedSharer{all, s}
	case inspects:
		return struct {
			observedBackend
			Inspector
		}{all, i}
	}
	return all
}

type observedBackend struct {
	backend  Backend
	observer Observer
}

func (b observedBackend) TryLock(ctx context.Context, scope string) (Tenure, error) {
	return b.attempt(ctx, "trylock", scope, b.backend.TryLock)
}

func (b observedBackend) Lock(ctx context.Context, scope string) (Tenure, error) {
	return b.attempt(ctx, "lock", scope, b.backend.Lock)
}

type observedSharer struct {
	observedBackend
	sharer Sharer
}

func (b observedSharer) TryRLock(ctx context.Context, scope string) (Tenure, error) {
	return b.attempt(ctx, "tryrlock", scope, b.sharer.TryRLock)
}

func (b observedSharer) RLock(ctx context.Context, scope string) (Tenure, error) {
	return b.attempt(ctx, "rlock", scope, b.sharer.RLock)
}

func (b observedBackend) attempt(ctx context.Context, op, scope string, take func(context.Context, string) (Tenure, error)) (Tenure, error) {
	b.observer.Observe(ctx, Event{Kind: Asked, Op: op, Scope: scope})
	asked := time.Now()
	t, err := take(ctx, scope)
	took := time.Since(asked)
	if err != nil {
		b.observer.Observe(ctx, Event{Kind: NotGranted, Op: op, Scope: scope, Err: err, Took: took})
		return nil, err
	}
	one := &observedTenure{Tenure: t, observer: b.observer, since: time.Now()}
	told := false
	defer func() {
		if !told { // the observer has panicked, and nobody gets the tenure
			_ = release(ctx, t)
		}
	}()
	one.tell(ctx, Event{Kind: Granted, Op: op, Took: took})
	told = true
	one.watch(context.WithoutCancel(ctx))
	switch t := t.(type) {
	case Extender:
		return observedExtender{one, t}, nil
	case Expirer:
		return observedExpirer{one, t}, nil
	case interface {
		Renewer
		Extensible
	}:
		return struct {
			observedExtensible
			Renewer
		}{observedExtensible{one, t}, t}, nil
	case Extensible:
		return observedExtensible{one, t}, nil
	case Renewer:
		return observedRenewer{one, t}, nil
	}
	return one, nil
}

type observedTenure struct {
	Tenure
	observer  Observer
	since     time.Time
	unlocking atomic.Int64 // calls of Unlock that are under way

	mu   sync.Mutex // held while the observer is told
	over bool       // the end was told
}

type (
	observedExpirer struct {
		*observedTenure
		Expirer
	}
	observedExtender struct {
		*observedTenure
		Extender
	}
	observedRenewer struct {
		*observedTenure
		Renewer
	}
	observedExtensible struct {
		*observedTenure
		inner Extensible
	}
)

// tell tells of an event of the tenure, unless its end was told.
func (t *observedTenure) tell(ctx context.Context, e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	if e.Kind == Lost || e.Kind == Released {
		t.over, e.Took = true, time.Since(t.since)
	}
	e.Grant = t.Grant()
	e.Scope = e.Grant.Scope
	t.observer.Observe(ctx, e)
}

// watch tells of what becomes of the tenure with no call of the holder.
func (t *observedTenure) watch(ctx context.Context) {
	if r, ok := t.Tenure.(Renewer); ok {
		r.OnRenewal(func(took time.Duration, err error) { t.tell(ctx, renewal("", took, err)) })
	}
	go func() {
		<-t.Done()
		t.tellLoss(ctx)
	}()
}

// tellLoss tells of a loss, if there was one.
func (t *observedTenure) tellLoss(ctx context.Context) {
	if err := t.Err(); err != nil {
		t.tell(ctx, Event{Kind: Lost, Err: err})
	}
}

func renewal(op string, took time.Duration, err error) Event {
	kind := Renewed
	if err != nil {
		kind = RenewalFailed
	}
	return Event{Kind: kind, Op: op, Err: err, Took: took}
}

// Unlock is as that of the Tenure.
func (t *observedTenure) Unlock(ctx context.Context) error {
	t.tellLoss(ctx)
	t.unlocking.Add(1)
	err := t.Tenure.Unlock(ctx)
	if !errors.Is(err, ErrLost) {
		t.tell(ctx, Event{Kind: Released, Op: "unlock", Err: err})
	}
	// Of two calls at once, one may free the lock, and the other is told ErrLost.
	if last := t.unlocking.Add(-1) == 0; last && errors.Is(err, ErrLost) {
		t.tell(ctx, Event{Kind: Lost, Op: "unlock", Err: err})
	}
	return err
}

// Extend is as that of the Extender.
func (t observedExtender) Extend(ctx context.Context, d time.Duration) error {
	return t.extend(ctx, t.Extender, d)
}

// Extend is as that of the Extensible.
func (t observedExtensible) Extend(ctx context.Context, d time.Duration) error {
	return t.extend(ctx, t.inner, d)
}

func (t *observedTenure) extend(ctx context.Context, e Extensible, d time.Duration) error {
	asked := time.Now()
	err := e.Extend(ctx, d)
	if !errors.Is(err, ErrLost) { // of which Done tells
		t.tell(ctx, renewal("extend", time.Since(asked), err))
	}
	return err
}

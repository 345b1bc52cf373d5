package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// eye sees the nodes of a lock, by a connection of its own.
type eye struct{ conn *zk.Conn }

func look(t *testing.T, servers []string) eye {
	t.Helper()
	return eye{zktest.Connect(t, servers, long)}
}

// until returns when there are n nodes, in the order of their names.
func (e eye) until(ctx context.Context, t *testing.T, n int) []string {
	t.Helper()
	for {
		nodes, _, changed, err := e.conn.ChildrenW(scope)
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes) == n {
			slices.Sort(nodes)
			return nodes
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("there are %q, want %d", nodes, n)
		}
	}
}

type answer struct {
	tenure lock.Tenure
	err    error
}

// inBackground asks for the lock.
func inBackground(ctx context.Context, b lock.Backend) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		tenure, err := b.Lock(ctx, scope)
		answers <- answer{tenure, err}
	}()
	return answers
}

// granted waits for the answer.
func granted(t *testing.T, answers <-chan answer) lock.Tenure {
	t.Helper()
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.tenure
}

// TestConnectionLost: what a connection that breaks does to requests, to nodes and to
// tenures, on one server. Sessions last longer than the tests.
func TestConnectionLost(t *testing.T) {
	server := zktest.Start(t, 1).Members[0]
	tests := map[string]func(context.Context, *testing.T, *world){
		"create without answer": createWithoutAnswer,
		"create lost":           createLost,
		"create abandoned":      createAbandoned,
		"unlock without answer": unlockWithoutAnswer,
		"unlock abandoned":      unlockAbandoned,
		"tenure goes on":        tenureGoesOn,
		"tenure of many links":  tenureOfManyLinks,
		"tenure suspended":      tenureSuspended,
		"waiter goes on":        waiterGoesOn,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := bounded(t)
			w := &world{eye: look(t, []string{server.Addr}), addr: server.Addr}
			test(ctx, t, w)
			w.until(ctx, t, 0) // no node is left
		})
	}
}

type world struct {
	eye
	addr string
}

// open is a backend, and its network.
func (w *world) open(t *testing.T, some ...zklock.Option) (*zklock.Backend, *network.Link) {
	t.Helper()
	l := linkTo(t, w.addr)
	return backend(t, long, []string{l.Addr()}, some...), l
}

// connected is open, with a session.
func (w *world) connected(ctx context.Context, t *testing.T, some ...zklock.Option) (*zklock.Backend, *network.Link) {
	t.Helper()
	b, l := w.open(t, some...)
	unlock(ctx, t, take(ctx, t, b))
	return b, l
}

// reconnect breaks a link, and lets it go on. What is under way is lost.
func reconnect(l *network.Link) {
	l.Cut()
	mend(l)
}

func createWithoutAnswer(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	link.Rx.Shut()
	answers := inBackground(ctx, b)
	made := w.until(ctx, t, 1)
	reconnect(link)
	tenure := granted(t, answers)
	if owner := tenure.Grant().Owner; owner != scope+"/"+made[0] {
		t.Errorf("the node is %s, want %s, which was made first", owner, made[0])
	}
	w.until(ctx, t, 1)
	unlock(ctx, t, tenure)
}

func createLost(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	link.Tx.Shut()
	answers := inBackground(ctx, b)
	<-link.Holds()
	reconnect(link)
	tenure := granted(t, answers)
	w.until(ctx, t, 1)
	unlock(ctx, t, tenure)
}

func createAbandoned(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	link.Rx.Shut()
	short, cancel := context.WithCancel(ctx)
	answers := inBackground(short, b)
	w.until(ctx, t, 1)
	cancel()
	a := <-answers
	if unknown := new(lock.UnknownError); !errors.As(a.err, &unknown) || !errors.Is(a.err, context.Canceled) {
		t.Errorf("without an answer the outcome is %v, want an UnknownError of the context", a.err)
	}
	reconnect(link)
}

func unlockWithoutAnswer(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	tenure := take(ctx, t, b)
	link.Rx.Shut()
	freed := make(chan error, 1)
	go func() { freed <- tenure.Unlock(ctx) }()
	w.until(ctx, t, 0)
	reconnect(link)
	if err := <-freed; err != nil {
		t.Errorf("the unlock says %v, and has freed the lock", err)
	}
	if err := tenure.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a second unlock says %v, want ErrLost", err)
	}
}

func unlockAbandoned(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	tenure := take(ctx, t, b)
	link.Tx.Shut()
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	err := tenure.Unlock(short)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) {
		t.Errorf("without an answer the unlock says %v", err)
	}
	w.until(ctx, t, 1)
	reconnect(link)
}

func tenureGoesOn(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t)
	tenure := take(ctx, t, b)
	reconnect(link)
	if other, err := b.TryLock(ctx, scope); !errors.Is(err, lock.ErrLocked) { // by a new connection
		t.Errorf("another is granted %v, %v", other, err)
	}
	if err := tenure.Err(); err != nil {
		t.Errorf("after a moment without a connection it is over: %v", err)
	}
	unlock(ctx, t, tenure)
}

// tenureOfManyLinks: the session is renewed by each new connection, for longer than it lasts
// without.
func tenureOfManyLinks(ctx context.Context, t *testing.T, w *world) {
	const timeout = 4 * time.Second
	l := linkTo(t, w.addr)
	b := backend(t, timeout, []string{l.Addr()})
	tenure := take(ctx, t, b)
	for began := time.Now(); time.Since(began) < 2*timeout; {
		reconnect(l)
		if other, err := b.TryLock(ctx, scope); !errors.Is(err, lock.ErrLocked) { // by a new connection
			t.Fatalf("another is granted %v, %v", other, err)
		}
	}
	if err := tenure.Err(); err != nil {
		t.Errorf("the tenure is over: %v", err)
	}
	unlock(ctx, t, tenure)
}

func tenureSuspended(ctx context.Context, t *testing.T, w *world) {
	b, link := w.connected(ctx, t, zklock.Suspended())
	tenure := take(ctx, t, b)
	reconnect(link)
	select {
	case <-tenure.Done():
	case <-ctx.Done():
		t.Fatal("the holder is not told")
	}
	if err := tenure.Err(); !errors.Is(err, lock.ErrCutOff) {
		t.Errorf("the reason is %v, want ErrCutOff", err)
	}
	w.until(ctx, t, 0)
	if err := tenure.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the unlock of what is over says %v, want ErrLost", err)
	}
	unlock(ctx, t, take(ctx, t, b)) // in the same session, that can be trusted again
}

func waiterGoesOn(ctx context.Context, t *testing.T, w *world) {
	holder := backend(t, long, []string{w.addr})
	first := take(ctx, t, holder)
	b, link := w.open(t)
	answers := inBackground(ctx, b)
	w.until(ctx, t, 2)
	reconnect(link)
	unlock(ctx, t, first)
	unlock(ctx, t, granted(t, answers))
}

// newer is a server that is ahead of others: one that is behind its client does not serve it.
func newer(t *testing.T) *zkproc.Member {
	t.Helper()
	s := zktest.Start(t, 1).Members[0]
	conn := zktest.Connect(t, []string{s.Addr}, long)
	for i := range 100 {
		if _, err := conn.Create(fmt.Sprint("/", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestExpired: a server that does not know the session any more says so to holders and to
// waiters; the next attempt has a new session.
func TestExpired(t *testing.T) {
	ctx := bounded(t)
	first, second := zktest.Start(t, 1).Members[0], newer(t)
	var at atomic.Value
	link := linkTo(t, first.Addr)
	at.Store(link.Addr())
	dial := func(network, _ string, within time.Duration) (net.Conn, error) {
		return net.DialTimeout(network, at.Load().(string), within)
	}
	b := backend(t, long, []string{first.Addr}, zklock.Dialer(dial))
	tenure := take(ctx, t, b)
	waiter := inBackground(ctx, b)
	look(t, []string{first.Addr}).until(ctx, t, 2)

	at.Store(second.Addr)
	link.Cut()
	<-tenure.Done()
	if err := tenure.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the holder is told %v, want ErrLost", err)
	}
	if err := tenure.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
		t.Errorf("its unlock says %v, want ErrLost", err)
	}
	if a := <-waiter; !errors.Is(a.err, zk.ErrSessionExpired) {
		t.Errorf("the waiter is told %v", a.err)
	}
	unlock(ctx, t, take(ctx, t, b))
}

// TestPausedPastItsSession: while a client is cut off its session ends, and another gets the
// lock with a higher token.
func TestPausedPastItsSession(t *testing.T) {
	ctx := bounded(t)
	server := zktest.Start(t, 1).Members[0]
	link := linkTo(t, server.Addr)
	paused, other := backend(t, 3*time.Second, []string{link.Addr()}), backend(t, long, []string{server.Addr})
	tenure := take(ctx, t, paused)
	cut(link)
	next := take(ctx, t, other)
	if next.Grant().Token <= tenure.Grant().Token {
		t.Errorf("the token is %d, after %d", next.Grant().Token, tenure.Grant().Token)
	}
	<-tenure.Done()
	if err := tenure.Err(); !errors.Is(err, lock.ErrCutOff) {
		t.Errorf("the holder is told %v, want ErrCutOff", err)
	}
	mend(link)
	if err := tenure.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
		t.Errorf("its unlock says %v, want ErrLost", err)
	}
	unlock(ctx, t, next)
}

// TestNoServer: an attempt that reaches nobody says why.
func TestNoServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	b := backend(t, long, []string{proctest.Nobody(t)})
	_, err := b.Lock(ctx, scope)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, new(*net.OpError)) {
		t.Errorf("got %v, want the context's error, and that of the network", err)
	}
}

// TestClosed: Close gives back what is held, and nothing can be taken afterwards.
func TestClosed(t *testing.T) {
	ctx := bounded(t)
	server := zktest.Start(t, 1).Members[0]
	b := backend(t, long, []string{server.Addr})
	tenure := take(ctx, t, b)
	waiter := inBackground(ctx, b)
	eye := look(t, []string{server.Addr})
	eye.until(ctx, t, 2)
	b.Close()
	if a := <-waiter; !errors.Is(a.err, zk.ErrClosing) {
		t.Errorf("the waiter is told %v", a.err)
	}
	<-tenure.Done()
	if err := tenure.Err(); !errors.Is(err, lock.ErrCutOff) {
		t.Errorf("the holder is told %v, want ErrCutOff", err)
	}
	if _, err := b.Lock(ctx, scope); !errors.Is(err, zk.ErrClosing) {
		t.Errorf("a lock of a backend that is closed: %v", err)
	}
	eye.until(ctx, t, 0)
}

// Package zklock is a lock.Backend and a lock.Sharer on ZooKeeper. Its locks are the queues
// of nodes that Apache Curator makes, and so its locks and Curator's exclude each other.
//
// Each attempt has an ephemeral sequential node below the scope's path. A writer waits for
// all nodes before its own, a reader waits only for those of writers. Each waits for the
// last of them alone, so that a release wakes nobody else, and the lock is granted in the
// order in which the nodes were created. That is fair by nature.
//
// # Tokens
//
// The token is the czxid of the holder's node: the number of the transaction that created
// it. The number in the node's name is no token: ZooKeeper removes the empty container of a
// lock after a while, and then this number starts again.
//
// # One session, a node for each tenure
//
// The tenures of one Backend stand on one session, which begins with the first attempt and
// is renewed until Close. A session that is over is the loss of all its tenures; the next
// attempt begins a new one. Who wants tenures that cannot be lost together makes a Backend
// for each.
//
// # What a holder is told, and when
//
// ZooKeeper's client calls a connection lost, or SUSPENDED, after two thirds of the session's
// timeout without an answer, or at once where it breaks. The session goes on meanwhile, and
// nobody else gets the lock. By default a tenure goes on, too. It is over
//
//   - as lost, where a server says that the session has expired;
//   - as cut off, a quarter of the timeout after the connection was lost, if there is no other
//     connection by then. Soon after that the session may expire.
//
// With the option Suspended a tenure is cut off as soon as the connection is lost. It costs
// tenures that could have gone on.
//
// The node of a tenure that was cut off is removed as soon as there is a connection.
//
// # Who holds a lock
//
// The data of a node is the words of its holder (lock.WithWords), and nothing without words.
// Curator puts the address of its host there, and reads neither. Inspect tells all that stand
// in the queue.
//
// # Answers that are lost
//
// The name of each node begins with an identifier that no other node has. If a connection
// breaks before it is known whether a node was created, the node is looked for by this
// identifier, as Curator's protection does. It is then part of the queue, or is removed.
// If a node could not be removed before the context's end, that goes on in the background,
// until the node is gone or the session is over.
//
// # Nodes
//
// New has the nodes of Curator's InterProcessReadWriteLock, Mutex has those of Curator's
// InterProcessMutex and of the type Lock of package zk. Curator's two kinds of lock do not
// exclude each other, not even on one path.
//
// The path is the scope where the scope is a path such as /locks/orders. Between slashes it
// is escaped as url.PathEscape does. Parts that ZooKeeper does not allow, or that would be
// taken for nodes, begin with a percent sign. The path of a scope that does not begin with
// a slash is below /%scopes.
//
// ZooKeeper has to be 3.5.3 or later, and to know containers.
package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Exclusive takes locks alone. Its tenures have the concrete type *Tenure. Close ends it.
type Exclusive struct {
	options options
	kinds   map[fence.Mode]string

	mu      sync.Mutex
	session *session // of the next attempt; nil, or over: it gets a new one
	closed  bool
}

// Backend takes locks alone and shared.
type Backend struct {
	Exclusive
}

var (
	_ lock.Backend   = (*Exclusive)(nil)
	_ lock.Inspector = (*Exclusive)(nil)
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Sharer    = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

type options struct {
	servers   []string
	timeout   time.Duration
	dial      zk.Dialer
	acl       []zk.ACL
	auth      []credential
	root      string // the chroot; "": there is none
	suspended bool
}

// credential is what a session says of itself to the servers.
type credential struct {
	scheme string
	secret []byte
}

// Option is a choice for New and Mutex.
type Option func(*options)

// Suspended has the effect that a tenure is cut off as soon as the connection to ZooKeeper is
// lost, as users of Curator do who give up at SUSPENDED.
func Suspended() Option { return func(o *options) { o.suspended = true } }

// Dialer has connections made by dial, such as those of TLS. It gets a timeout. Without this
// option it is net.DialTimeout.
func Dialer(dial zk.Dialer) Option { return func(o *options) { o.dial = dial } }

// ACL is that of all nodes. Without this option everybody may do everything.
func ACL(acl ...zk.ACL) Option { return func(o *options) { o.acl = acl } }

// Auth has each session say who it is, by a scheme of ZooKeeper's and what the scheme wants:
// Auth("digest", []byte("app:secret")) for an ACL of zk.DigestACL or of zk.AuthACL. Several
// may be given.
func Auth(scheme string, secret []byte) Option {
	return func(o *options) { o.auth = append(o.auth, credential{scheme, secret}) }
}

// New returns a backend whose locks outlive a crash of their holder by timeout, that of the
// session, which has to be of whole milliseconds, plus up to a tick of the servers. Servers
// grant no session shorter than their minSessionTimeout, and none longer than their
// maxSessionTimeout; the tenures obey what was granted. servers are HOST:PORT, or HOST for
// the port 2181. The last may have a chroot after it, as ZooKeeper's own clients have it:
// HOST:PORT/app. All paths are then below /app.
//
// It connects at the first attempt, and waits for a server until the attempt's context is
// done.
func New(servers []string, timeout time.Duration, some ...Option) (*Backend, error) {
	b := new(Backend)
	b.kinds = map[fence.Mode]string{fence.Exclusive: kindWriter, fence.Shared: kindReader}
	return b, b.choose(servers, timeout, some)
}

// Mutex is New with the nodes of Curator's InterProcessMutex.
func Mutex(servers []string, timeout time.Duration, some ...Option) (*Exclusive, error) {
	e := &Exclusive{kinds: map[fence.Mode]string{fence.Exclusive: kindMutex}}
	return e, e.choose(servers, timeout, some)
}

func (e *Exclusive) choose(servers []string, timeout time.Duration, some []Option) error {
	if len(servers) == 0 {
		return fence.Definite.New("zklock: no server, want one HOST:PORT or more")
	}
	if timeout < time.Millisecond || timeout%time.Millisecond != 0 {
		return fence.Definite.New(fmt.Sprintf("zklock: a timeout of %v, want whole milliseconds, 1ms or more", timeout))
	}
	servers = slices.Clone(servers)
	last := len(servers) - 1
	host, root, hasRoot := strings.Cut(servers[last], "/")
	if hasRoot {
		servers[last], root = host, "/"+root
	}
	if i := slices.IndexFunc(servers, func(s string) bool { return s == "" || strings.Contains(s, "/") }); i >= 0 {
		return fence.Definite.New(fmt.Sprintf("zklock: the server %q, want HOST:PORT; only the last may have a chroot after it", servers[i]))
	}
	if hasRoot && (root == "/" || path.Clean(root) != root) {
		return fence.Definite.New(fmt.Sprintf("zklock: the chroot %q, want a path such as /app", root))
	}
	e.options = options{
		servers: zk.FormatServers(servers), root: root, timeout: timeout,
		dial: net.DialTimeout, acl: zk.WorldACL(zk.PermAll),
	}
	for _, choice := range some {
		choice(&e.options)
	}
	return nil
}

// Close ends the session, and with it all tenures and attempts: they are cut off. ZooKeeper
// then removes their nodes, at once where it can be reached, else with the session's
// timeout. Close takes a few seconds where ZooKeeper does not answer.
func (e *Exclusive) Close() {
	e.mu.Lock()
	s := e.session
	e.closed = true
	e.mu.Unlock()
	if s != nil {
		s.finish(zk.ErrClosing)
		<-s.closed
	}
}

var errZero = fence.Definite.New("this backend was not made by New or Mutex")

var errEmpty = fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)

// lend is the session of an attempt.
func (e *Exclusive) lend() (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, zk.ErrClosing
	case len(e.options.servers) == 0:
		return nil, errZero
	}
	if e.session == nil || isClosed(e.session.over) {
		s, err := open(e.options)
		if err != nil {
			return nil, err
		}
		e.session = s
	}
	return e.session, nil
}

// TryLock is as lock.Backend says. While it fails it stands in the queue for a moment, so
// that of two attempts on a free lock that come together both may be told ErrLocked. When
// ctx is done, TryLock and Lock need at most 2 s more, to remove their node.
func (e *Exclusive) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says. A waiter whose session is over gets zk.ErrSessionExpired.
func (e *Exclusive) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.attempt(ctx, scope, attempt.Lock)
}

// TryRLock is as lock.Sharer says. It returns ErrLocked also where a writer only waits, and
// where a TryLock that fails stands in the queue.
func (b *Backend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryRLock)
}

// RLock is as lock.Sharer says, and else as Lock. It waits for the writers that came before,
// those that wait included.
func (b *Backend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.RLock)
}

func (e *Exclusive) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if scope == "" {
		return nil, fmt.Errorf("zklock: %s: %w", how.Op, errEmpty)
	}
	t, left, err := e.try(ctx, scope, how)
	if errors.Is(err, errOver) && left == nil { // nobody had noticed before; the next one is new
		t, left, err = e.try(ctx, scope, how)
	}
	if err == nil {
		return t, nil
	}
	return nil, attempt.Attempt{Package: "zklock", Way: how, Scope: scope}.Failed(ctx, err, "its node may be left", left)
}

// try takes the lock in the session that there is. left is why a node of the attempt may be
// left.
func (e *Exclusive) try(ctx context.Context, scope string, how attempt.Way) (t *Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s, err := e.lend()
	if err != nil {
		return nil, nil, err
	}
	t = newTenure(s, scope, how.Mode, e.kinds[how.Mode], lock.Words(ctx))
	if err := t.take(ctx, how.Wait); err != nil {
		left := t.abandon(ctx)
		if ctx.Err() != nil { // what caused err rather than how it came out of the client
			err = s.explain(ctx.Err())
		}
		return nil, left, err
	}
	return t, nil, nil
}

package zookeeper

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/service"
)

// link is a client's way to ZooKeeper: one connection at a time, to one of the members, and
// one session, which lasts over connections and reconnects by itself. Where a session has
// expired the next one follows.
type link struct {
	*zk.Conn
	timeout time.Duration // of the session
	silence time.Duration // without a connection, after which the session must be over

	mu         sync.Mutex
	connection *service.Life // ends when there is no connection with a session
	session    *service.Life // ends when it has expired, or must have; its ephemeral nodes end with it
	id         int64         // of the session
	waiting    *time.Timer   // for the silence

	closing chan struct{} // closed when nothing more is to be asked
}

// newLink makes a link before its first connection and session.
func newLink(timeout, silence time.Duration) *link {
	l := &link{timeout: timeout, silence: silence, connection: service.NewLife(), session: service.NewLife(), closing: make(chan struct{})}
	l.connection.End(nil)
	l.session.End(nil)
	return l
}

// connect makes a link. It need not connect.
func connect(servers []string, timeout, silence time.Duration, dial zk.Dialer) (*link, error) {
	l := newLink(timeout, silence)
	// The connection tells of its states before it is returned here.
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	l.Conn, _, err = zk.Connect(servers, timeout,
		zk.WithHostProvider(new(inTurn)), zk.WithDialer(dialer(timeout, len(servers), dial)), zk.WithEventCallback(l.see),
		zk.WithLogger(log.New(io.Discard, "", 0))) // what matters is in the errors
	return l, err
}

func (l *link) see(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		l.begin(l.SessionID())
	case zk.StateDisconnected:
		l.suspend()
	case zk.StateExpired:
		l.session.End(nil)
	}
}

// begin says that there is a connection with a session. It is called with the mutex, as suspend is.
func (l *link) begin(id int64) {
	if l.waiting != nil {
		l.waiting.Stop()
	}
	if service.IsClosed(l.connection.Done()) {
		l.connection = service.NewLife()
	}
	if l.id != id || service.IsClosed(l.session.Done()) {
		l.session.End(nil)
		l.session, l.id = service.NewLife(), id
	}
}

// suspend says that the connection is gone. After the silence the session must be over, as far as this side knows.
func (l *link) suspend() {
	suspended := l.connection
	if !suspended.End(nil) {
		return
	}
	l.waiting = time.AfterFunc(l.silence, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if suspended == l.connection {
			l.session.End(nil)
		}
	})
}

// state is what ends a tenure that is granted now: the end of the connection, and that of the session.
func (l *link) state() (suspended, lost <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.connection.Done(), l.session.Done()
}

// call does something that does not know contexts. What comes of it when ctx is done goes
// to late, unless that is nil.
func call[T any](ctx context.Context, do func() (T, error), late func(T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() {
		value, err := do()
		select {
		case done <- result{value, err}:
		case <-ctx.Done():
			if late != nil {
				late(value, err)
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// ask is call for a request that changes nothing. It is sent again where the connection broke.
func ask[T any](ctx context.Context, l *link, do func() (T, error)) (T, error) {
	for {
		value, err := call(ctx, do, nil)
		if !broke(err) || service.IsClosed(l.closing) {
			return value, err
		}
	}
}

// broke reports whether a request may have been done, and its answer was lost.
func broke(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

func (l *link) children(ctx context.Context, lock string) ([]string, error) {
	return ask(ctx, l, func() ([]string, error) {
		names, _, err := l.Children(lock)
		return names, err
	})
}

// remove deletes a node, and tries until it is gone, for as long as its session lasts.
func (l *link) remove(node string) {
	_, lost := l.state()
	for broke(l.Delete(node, -1)) && !service.IsClosed(lost) && !service.IsClosed(l.closing) {
	}
}

// end ends the session, and with it all nodes that are left.
func (l *link) end() {
	close(l.closing)
	l.Conn.Close()
}

const dialPause = 50 * time.Millisecond

// dialer makes connections, and where it cannot it takes a pause.
func dialer(session time.Duration, servers int, dial zk.Dialer) zk.Dialer {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := dial(network, addr, timeout)
		if err != nil {
			time.Sleep(dialPause)
			return nil, err
		}
		return &conn{c, session, min(session/time.Duration(servers), firstAnswer)}, nil
	}
}

// firstAnswer is how long a member may be silent that is asked for a session.
const firstAnswer = 2 * time.Second

// conn is a connection to a member. Package zk waits for the first answer for several times
// the session's timeout, also from a member that stands still, or has just been started and
// never answers. Here all members can be asked while the session lasts.
type conn struct {
	net.Conn
	session, first time.Duration
}

func (c *conn) SetReadDeadline(t time.Time) error {
	if time.Until(t) > c.session {
		t = time.Now().Add(c.first)
	}
	return c.Conn.SetReadDeadline(t)
}

// inTurn is the members, one after the other, without the second of pause that zk takes
// when all were tried: a short session would not outlast it.
type inTurn struct {
	servers []string
	next    int
}

func (p *inTurn) Init(servers []string) error {
	p.servers = slices.Clone(servers)
	return nil
}

func (p *inTurn) Len() int { return len(p.servers) }

func (p *inTurn) Next() (server string, retryStart bool) {
	server = p.servers[p.next]
	p.next = (p.next + 1) % len(p.servers)
	return server, false
}

func (p *inTurn) Connected() {}

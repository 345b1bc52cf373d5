package zklock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// errOver: the session was over before the attempt began, and nobody knew; or it ended
// while the node was created.
var errOver = errors.New("the session is over")

// errDisconnected: nothing renews the session until there is another connection.
var errDisconnected = errors.New("zklock: the connection is lost")

// session is one of ZooKeeper's, with the connections that it has, one after the other.
type session struct {
	options options
	conn    *zk.Conn
	over    chan struct{} // closed when the session is known to be over
	closed  chan struct{} // closed when its connection has ended, too
	known   chan struct{} // closed when the servers know who it is

	renewals attempt.Renewals

	mu        sync.Mutex
	why       error // it is over
	timeout   time.Duration
	connected bool
	breaks    int             // how often the connection was lost
	trust     context.Context // until the session may be over
	distrust  context.CancelCauseFunc
	link      *link // the latest
	dialed    time.Time
	trouble   error // why there is no answer
}

// open begins a session. It does not wait for a server.
func open(o options) (*session, error) {
	s := &session{options: o, over: make(chan struct{}), closed: make(chan struct{}), known: make(chan struct{})}
	s.begin()
	s.distrust(lock.ErrCutOff) // there is no connection yet
	conn, _, err := zk.Connect(o.servers, o.timeout, zk.WithDialer(s.dial),
		zk.WithHostProvider(&rotation{over: s.over}), zk.WithEventCallback(s.note), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	s.conn = conn
	go s.hangUp()
	go s.introduce()
	return s, nil
}

// introduce tells the servers who the session is. The client says it again by each new
// connection.
func (s *session) introduce() {
	for _, c := range s.options.auth {
		_, _, err := insist(context.Background(), s, func() (struct{}, error) {
			return struct{}{}, s.conn.AddAuth(c.scheme, c.secret)
		})
		if err != nil {
			s.finish(fmt.Errorf("Auth(%q): %w", c.scheme, err))
			return
		}
	}
	close(s.known)
}

// begin begins the time in which the session can be trusted.
func (s *session) begin() {
	s.trust, s.distrust = context.WithCancelCause(context.Background())
}

// trusted is the time in which the session can be trusted. It may have ended.
func (s *session) trusted() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trust
}

// note takes in what the client tells of its connection. The client calls it in the order of
// the events, and before requests go by a new connection.
func (s *session) note(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		s.found()
		s.renewals.Tell(0, nil)
	case zk.StateDisconnected:
		s.suspect()
		s.renewals.Tell(0, errDisconnected)
	case zk.StateExpired:
		s.finish(lock.ErrLost)
	}
}

// found notes that a server knows the session.
func (s *session) found() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected, s.trouble = true, nil
	if s.trust.Err() != nil && s.why == nil {
		s.begin()
	}
}

// suspect notes that the connection is lost. The server was heard of at most two thirds of
// the timeout ago; else the client would have said so earlier. So the session lasts for a
// third of the timeout at least, but for the time that answers take.
func (s *session) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.connected {
		return
	}
	s.connected = false
	s.breaks++
	if s.options.suspended {
		s.distrust(lock.ErrCutOff)
		return
	}
	this := s.breaks
	time.AfterFunc(s.timeout/4, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.connected && s.breaks == this {
			s.distrust(lock.ErrCutOff)
		}
	})
}

// finish notes that the session is over, and why.
func (s *session) finish(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		s.distrust(why)
		close(s.over)
	}
}

// hangUp ends the connection of a session that is over. The client would begin another
// session otherwise, and send it what waits.
func (s *session) hangUp() {
	<-s.over
	s.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.Close()
	}
	close(s.closed)
}

// lost reports whether a server has said that the session is over.
func (s *session) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why == lock.ErrLost
}

// ended is why an attempt of a session that is over fails.
func (s *session) ended() error {
	if s.lost() {
		return zk.ErrSessionExpired
	}
	return zk.ErrClosing
}

// unknown is why an attempt fails whose session ended before the servers knew who it is. Where
// they refused that, another session would fare no better.
func (s *session) unknown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.why, zk.ErrAuthFailed) {
		return s.why
	}
	return errOver
}

// troubled notes why there is no answer.
func (s *session) troubled(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}

// explain adds to the end of a context why there was no answer, where that is known.
func (s *session) explain(end error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == nil {
		return end
	}
	return fmt.Errorf("%w: %w", end, s.trouble)
}

// pause is for how long something that failed is left alone before it is tried again.
func (s *session) pause() time.Duration {
	return min(max(s.options.timeout/20, 10*time.Millisecond), time.Second)
}

// dial makes a connection, unless the session is over.
func (s *session) dial(network, address string, within time.Duration) (net.Conn, error) {
	select {
	case <-s.over:
		return nil, errOver
	case <-time.After(time.Until(s.dialed.Add(s.pause()))):
	}
	asked := time.Now()
	conn, err := s.options.dial(network, address, within)
	s.dialed = time.Now() // only the client's loop dials
	if err != nil {
		s.troubled(err)
		s.renewals.Tell(time.Since(asked), fmt.Errorf("zklock: connect to a server: %w", err))
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return nil, errors.Join(errOver, conn.Close())
	}
	s.link = &link{Conn: conn, patience: max(s.options.timeout, time.Second), granted: s.granted}
	if s.timeout > 0 { // another server has more to offer than this one's silence
		s.link.patience = s.timeout / 3
	}
	return s.link, nil
}

// granted notes the timeout that the servers have granted.
func (s *session) granted(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout = timeout
}

// link is a connection that reads in the server's first answer which timeout it grants. The
// client does not tell it.
type link struct {
	net.Conn
	patience time.Duration // with a server that does not answer at all
	granted  func(time.Duration)
	head     []byte // of the first answer
}

// The first answer has its length, the version of the protocol, and the timeout in
// milliseconds, four bytes each.
const headSize = 12

// Read implements net.Conn, as does SetReadDeadline.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if len(l.head) < headSize {
		l.head = append(l.head, b[:n]...)
		if len(l.head) >= headSize {
			ms := binary.BigEndian.Uint32(l.head[headSize-4:])
			l.granted(time.Duration(ms) * time.Millisecond)
		}
	}
	return n, err
}

func (l *link) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(l.patience); len(l.head) == 0 && t.After(limit) {
		t = limit
	}
	return l.Conn.SetReadDeadline(t)
}

// rotation has the servers tried one after the other, by a zk.HostProvider.
type rotation struct {
	servers []string
	next    int
	over    chan struct{} // closed when no server is to be tried any more
}

func (r *rotation) Init(servers []string) error { r.servers = servers; return nil }
func (r *rotation) Len() int                    { return len(r.servers) }
func (r *rotation) Connected()                  {}

// Next says that all servers were tried only where the session is over: the client then
// looks whether it was closed. Else it would sleep for a second, in which a short session
// ends.
func (r *rotation) Next() (server string, tried bool) {
	server = r.servers[r.next]
	r.next = (r.next + 1) % len(r.servers)
	return server, isClosed(r.over)
}

// silent is a zk.Logger.
type silent struct{}

func (silent) Printf(string, ...any) {}

// ask makes a request, which ends with ctx and with the session. The request itself may go
// on.
func ask[T any](ctx context.Context, s *session, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	var none T
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-s.over:
		return none, errOver
	}
}

// refused reports whether err is the servers' word that they did not do what they were
// asked. Any other error may be that of a connection.
func refused(err error) bool {
	for _, said := range []error{
		zk.ErrNoNode, zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals,
		zk.ErrNotEmpty, zk.ErrNodeExists, zk.ErrBadArguments, zk.ErrInvalidPath, zk.ErrInvalidFlags,
	} {
		if errors.Is(err, said) {
			return true
		}
	}
	return false
}

// insist asks until ctx or the session ends, or the servers answer. again says that an
// earlier request had no answer: it may have been carried out.
func insist[T any](ctx context.Context, s *session, request func() (T, error)) (value T, again bool, err error) {
	for ; ; again = true {
		value, err = ask(ctx, s, request)
		if err == nil || refused(err) || errors.Is(err, errOver) || ctx.Err() != nil {
			return value, again, err
		}
		s.troubled(err)
		select {
		case <-time.After(s.pause()):
		case <-ctx.Done():
		case <-s.over:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

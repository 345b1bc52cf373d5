package etcdlock_test

import (
	"context"
	"net"
	"sync"
)

// link is a client's connection to the service, which can be cut without a sign
// to either end: bytes wait on it until it is mended.
type link struct {
	mu    sync.Mutex
	whole chan struct{} // closed unless the link is cut
}

func newLink() *link {
	l := &link{whole: make(chan struct{})}
	close(l.whole)
	return l
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
		l.whole = make(chan struct{})
	default:
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole:
	default:
		close(l.whole)
	}
}

// wait returns when the link is whole, or an error when done is closed.
func (l *link) wait(done <-chan struct{}) error {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-whole:
		return nil
	case <-done:
		return net.ErrClosed
	}
}

func (l *link) dial(ctx context.Context, addr string) (net.Conn, error) {
	if err := l.wait(ctx.Done()); err != nil {
		return nil, err
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	closed := make(chan struct{})
	return &conn{Conn: c, link: l, closed: closed, close: sync.OnceFunc(func() { close(closed) })}, nil
}

type conn struct {
	net.Conn
	link   *link
	closed chan struct{}
	close  func()
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err := c.link.wait(c.closed); err != nil {
		return 0, err
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.link.wait(c.closed); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.close()
	return c.Conn.Close()
}

package zookeeper

import (
	"context"
	"encoding/binary"
	"net"
	"time"
)

// firstReadOnly is first in a session of its own, for which a member is enough that only reads.
func (w *asking) firstReadOnly(ctx context.Context) error {
	l, err := connect(w.endpoints, w.timeout, w.timeout, dialReadOnly)
	if err != nil {
		return err
	}
	defer l.end()
	reader := &asking{client: &client{link: l, recipe: w.recipe}, lock: w.lock, node: w.node}
	return reader.first(ctx)
}

// dialReadOnly makes connections for sessions that only read. Package zk knows no such sessions.
func dialReadOnly(network, addr string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &readOnlyConn{Conn: c}, nil
}

// readOnlyConn is a connection whose first packet, the request for a session, is written as Java's client writes it:
// with a last byte, which says that a member is enough that only reads.
type readOnlyConn struct {
	net.Conn
	asked bool
}

// sizeOfLength is the size of what comes before each packet: its length.
const sizeOfLength = 4

func (c *readOnlyConn) Write(b []byte) (int, error) {
	if c.asked {
		return c.Conn.Write(b)
	}
	c.asked = true
	request := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(b)+1)
	request = append(append(request, b[sizeOfLength:]...), 1)
	n, err := c.Conn.Write(request)
	return min(n, len(b)), err
}

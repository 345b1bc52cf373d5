// Package watch reads what a member of a ZooKeeper tells of some nodes and all below them: each node that is created
// or deleted, with the number of the transaction that did it (zxid), in the order of the transactions. It speaks
// ZooKeeper's protocol itself, as clients in Go know no persistent watches.
package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Event is a node that was created or deleted.
type Event struct {
	Path    string
	Zxid    int64 // of the transaction; of a node that was created it is its czxid
	Deleted bool
}

type Node struct {
	Name  string
	Czxid int64
}

// sessionTimeout is that of the stream's own session: a member of which it stands still for
// less goes on with the stream.
const (
	sessionTimeout = 20 * time.Second
	pingPeriod     = time.Second
)

// openDeadline is for how long a member may be silent that is asked for a session. One that
// has just been started can take the request, and never answer it.
const openDeadline = 2 * time.Second

// Stream is what one member tells. Its methods are safe for concurrent use.
type Stream struct {
	conn net.Conn
	tell func(Event)
	done chan struct{} // closed when nothing more is told

	mu      sync.Mutex
	err     error // why done is closed
	xid     int32
	answers map[int32]chan answer
}

type answer struct {
	zxid int64 // of the last transaction that the member had done
	code int32
	body reader
}

// Follow connects to a member, and has it tell what happens to the nodes of some paths and below them, whether they
// are there yet or not. It returns when the member watches. tell is called for one event after the other.
func Follow(ctx context.Context, addr string, paths []string, tell func(Event)) (*Stream, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	s := &Stream{conn: conn, tell: tell, done: make(chan struct{}), answers: make(map[int32]chan answer)}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = s.open()
	stop()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("watch: open a session at %s: %w", addr, errors.Join(err, context.Cause(ctx)))
	}
	go s.read()
	go s.ping()
	for _, path := range paths {
		const recursively int32 = 1
		if _, err := s.ask(ctx, opAddWatch, path, recursively); err != nil {
			s.Close()
			return nil, fmt.Errorf("watch: %s at %s: %w", path, addr, err)
		}
	}
	return s, nil
}

func (s *Stream) open() error {
	if err := s.conn.SetDeadline(time.Now().Add(openDeadline)); err != nil {
		return err
	}
	const version, lastZxid, session, readOnly = int32(0), int64(0), int64(0), false
	password := make([]byte, 16)
	if err := s.send(version, lastZxid, int32(sessionTimeout/time.Millisecond), session, password, readOnly); err != nil {
		return err
	}
	if _, err := s.packet(); err != nil {
		return err
	}
	return s.conn.SetDeadline(time.Time{})
}

// Done is closed when the stream has ended. Err says why.
func (s *Stream) Done() <-chan struct{} { return s.done }

func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the stream, and returns when nothing more is told. Its session ends with it, so
// that the member forgets the watches.
func (s *Stream) Close() {
	_ = s.send(xidClose, opClose) // else the session runs out
	s.conn.Close()
	<-s.done
}

// read takes in what the member sends. At the end of that it notes why nothing more is told, and has
// nobody wait for an answer.
func (s *Stream) read() {
	defer close(s.done)
	for {
		packet, err := s.packet()
		if err != nil {
			s.conn.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = err
			for _, waits := range s.answers {
				close(waits)
			}
			s.answers = nil
			return
		}
		xid, zxid, code := packet.int(), packet.long(), packet.int()
		switch {
		case xid == xidEvent:
			kind, _, path := packet.int(), packet.int(), packet.string() // the second is the state of the session
			if kind == eventCreated || kind == eventDeleted {
				s.tell(Event{Path: path, Zxid: zxid, Deleted: kind == eventDeleted})
			}
		case xid >= 0:
			s.mu.Lock()
			if waits := s.answers[xid]; waits != nil {
				waits <- answer{zxid, code, packet}
				delete(s.answers, xid)
			}
			s.mu.Unlock()
		}
	}
}

func (s *Stream) ping() {
	for {
		select {
		case <-time.After(pingPeriod):
		case <-s.done:
			return
		}
		if s.send(xidPing, opPing) != nil {
			s.conn.Close()
			return
		}
	}
}

// ask sends a request, and waits for its answer. What was to be told before the answer has been told by then.
func (s *Stream) ask(ctx context.Context, op int32, body ...any) (answer, error) {
	waits := make(chan answer, 1)
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return answer{}, s.err
	}
	s.xid++
	xid := s.xid
	s.answers[xid] = waits
	s.mu.Unlock()
	if err := s.send(append([]any{xid, op}, body...)...); err != nil {
		return answer{}, err
	}
	select {
	case a, ok := <-waits:
		if !ok {
			return a, s.Err()
		}
		if a.code != 0 {
			return a, Code(a.code)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// Position is the number of a transaction. All that the cluster did before this call has it
// or a lower one, and has been told of when Position returns.
func (s *Stream) Position(ctx context.Context) (zxid int64, err error) {
	a, err := s.ask(ctx, opSync, "/")
	return a.zxid, err
}

// Children are the nodes right below a path; none where nothing is there. zxid is when that
// was so: of the nodes that are there only those are missing that have a higher czxid.
func (s *Stream) Children(ctx context.Context, path string) (nodes []Node, zxid int64, err error) {
	const unwatched = false
	a, err := s.ask(ctx, opChildren, path, unwatched)
	if err == NoNode {
		return nil, a.zxid, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for range a.body.int() {
		n := Node{Name: a.body.string()}
		stat, err := s.ask(ctx, opExists, path+"/"+n.Name, unwatched)
		switch {
		case err == NoNode: // it has gone since
			continue
		case err != nil:
			return nil, 0, err
		}
		n.Czxid = stat.body.long()
		nodes = append(nodes, n)
	}
	return nodes, a.zxid, nil
}

// Has says whether there is a node at a path.
func (s *Stream) Has(ctx context.Context, path string) (bool, error) {
	const unwatched = false
	_, err := s.ask(ctx, opExists, path, unwatched)
	if err == NoNode {
		return false, nil
	}
	return err == nil, err
}

func (s *Stream) Delete(ctx context.Context, path string) error {
	const anyVersion int32 = -1
	_, err := s.ask(ctx, opDelete, path, anyVersion)
	return err
}

func (s *Stream) send(values ...any) error {
	_, err := s.conn.Write(jute(jute(values...))) // in one piece, also where several send
	return err
}

func (s *Stream) packet() (packet reader, err error) {
	var length int32
	if err := binary.Read(s.conn, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	if length < 0 || length > maxPacket {
		return nil, fmt.Errorf("a packet of %d bytes", length)
	}
	packet = make(reader, length)
	_, err = io.ReadFull(s.conn, packet)
	return packet, err
}

// The numbers of ZooKeeper's protocol, those that are needed.
const (
	opDelete   int32 = 2
	opExists   int32 = 3
	opSync     int32 = 9
	opPing     int32 = 11
	opChildren int32 = 12 // with the node's own Stat at the end
	opAddWatch int32 = 106
	opClose    int32 = -11

	xidEvent int32 = -1
	xidPing  int32 = -2
	xidClose int32 = 0

	eventCreated = 1
	eventDeleted = 2

	maxPacket = 4 << 20
)

// Code is an error of ZooKeeper's, by its number.
type Code int32

// Those that callers look for.
const (
	NoNode   Code = -101
	NotEmpty Code = -111
)

func (c Code) Error() string {
	switch c {
	case NoNode:
		return "there is no such node"
	case NotEmpty:
		return "the node has children"
	}
	return fmt.Sprintf("ZooKeeper answers with the error %d", int32(c))
}

// jute encodes values in ZooKeeper's way: numbers by their size, and strings, bytes and packets in
// them after their length.
func jute(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		default:
			b, _ = binary.Append(b, binary.BigEndian, v) // the values here are of fixed size
		}
	}
	return b
}

// reader reads a packet. Where it is too short, what is missing is zero.
type reader []byte

func (r *reader) next(n int) []byte {
	b := make([]byte, max(n, 0))
	*r = (*r)[copy(b, *r):]
	return b
}

func (r *reader) int() int32 { return int32(binary.BigEndian.Uint32(r.next(4))) }

func (r *reader) long() int64 { return int64(binary.BigEndian.Uint64(r.next(8))) }

func (r *reader) string() string { return string(r.next(min(int(r.int()), len(*r)))) }

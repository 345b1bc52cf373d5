// Package replica reads the replication stream of a Redis: the commands that changed its
// keys, in the order in which Redis ran them. Keys that expire are deleted in it.
package replica

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// Stream is one. It is not acknowledged, so that WAIT counts real replicas alone.
type Stream struct {
	conn net.Conn
	in   *bufio.Reader
	stop context.CancelFunc
}

// ackPeriod is how often a Redis is told that somebody follows; after a minute without a
// word it breaks the connection. Right after the snapshot it is told more often: it sends
// nothing before it is told, and does not listen before it has noted the snapshot's end.
const (
	ackPeriod      = time.Second
	firstAckPeriod = time.Millisecond
)

// Follow begins to read the stream of the Redis at the other end of a connection that
// nobody else uses, as a user with a password where there is one. It returns when the
// stream has begun. The snapshot of what was there before is read and thrown away.
func Follow(ctx context.Context, conn net.Conn, user, password string) (*Stream, error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	following, stop := context.WithCancel(context.Background())
	s := &Stream{conn: conn, in: bufio.NewReader(conn), stop: stop}
	if err := s.handshake(user, password); err != nil {
		s.Close()
		return nil, fmt.Errorf("follow redis: %w", errors.Join(err, context.Cause(ctx)))
	}
	go s.stay(following)
	return s, nil
}

func (s *Stream) handshake(user, password string) error {
	asks := [][]string{{"REPLCONF", "listening-port", "0"}, {"REPLCONF", "capa", "eof", "capa", "psync2"}}
	if password != "" {
		asks = slices.Insert(asks, 0, []string{"AUTH", cmp.Or(user, "default"), password})
	}
	for _, ask := range asks {
		if err := s.send(ask...); err != nil {
			return err
		}
		if _, err := s.status(); err != nil {
			return err
		}
	}
	if err := s.send("PSYNC", "?", "-1"); err != nil {
		return err
	}
	begins, err := s.status()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(begins, "+FULLRESYNC ") {
		return fmt.Errorf("redis answers PSYNC by %q", begins)
	}
	if err := s.skipSnapshot(); err != nil {
		return fmt.Errorf("its snapshot: %w", err)
	}
	return s.send("REPLCONF", "ACK", "0") // without which some send nothing more
}

// status reads a line that is no error.
func (s *Stream) status() (string, error) {
	line, err := s.line()
	if err == nil && strings.HasPrefix(line, "-") {
		err = errors.New(line[1:])
	}
	return line, err
}

// line reads one; empty ones say that Redis is busy.
func (s *Stream) line() (string, error) {
	for {
		line, err := s.in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" || err != nil {
			return line, err
		}
	}
}

// skipSnapshot reads up to the end of a snapshot, which has a length or a mark at its end.
func (s *Stream) skipSnapshot() error {
	head, err := s.line()
	if err != nil {
		return err
	}
	if mark, marked := strings.CutPrefix(head, "$EOF:"); marked {
		return s.skipTo([]byte(mark))
	}
	length, err := strconv.ParseInt(strings.TrimPrefix(head, "$"), 10, 64)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, s.in, length)
	return err
}

func (s *Stream) skipTo(mark []byte) error {
	var last []byte
	for !bytes.Equal(last, mark) {
		b, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		if last = append(last, b); len(last) > len(mark) {
			last = last[1:]
		}
	}
	return nil
}

// stay says now and then that somebody follows, ever more rarely.
func (s *Stream) stay(following context.Context) {
	for period := firstAckPeriod; sleep.For(following, period); period = min(2*period, ackPeriod) {
		if s.send("REPLCONF", "ACK", "0") != nil {
			return // who reads is told
		}
	}
}

func (s *Stream) send(args ...string) error {
	_, err := io.WriteString(s.conn, proto.Strings(args...))
	return err
}

// Next waits for the next command. Its name is in capitals.
func (s *Stream) Next() ([]string, error) {
	sent, err := proto.Read(s.in)
	if err != nil {
		return nil, fmt.Errorf("the stream of redis: %w", err)
	}
	args, err := proto.ReadStrings(sent)
	if err != nil || len(args) == 0 {
		return nil, fmt.Errorf("redis sends %.100q in its stream, want an array of strings", sent)
	}
	args[0] = strings.ToUpper(args[0])
	return args, nil
}

// Close ends the stream, and a Next that waits.
func (s *Stream) Close() {
	s.stop()
	s.conn.Close()
}

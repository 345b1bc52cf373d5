package hazelcast

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"
)

// followAgain is the pause before a member is asked again that does not tell.
const followAgain = 50 * time.Millisecond

// stream is what a member tells, from the beginning of its log.
type stream struct {
	conn    net.Conn
	lines   *bufio.Scanner
	member  string // the address at which it serves
	cluster string // what it calls the cluster
}

// listen has a member tell.
func listen(ctx context.Context, addr string) (*stream, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s := &stream{conn: conn, lines: bufio.NewScanner(conn)}
	if !s.lines.Scan() {
		conn.Close()
		return nil, fmt.Errorf("the member at %s tells nothing: %w", addr, s.lines.Err())
	}
	if _, err := fmt.Sscanf(s.lines.Text(), "member %s %s", &s.member, &s.cluster); err != nil {
		conn.Close()
		return nil, fmt.Errorf("the member at %s says %q: %w", addr, s.lines.Text(), err)
	}
	return s, nil
}

// follow takes in what a member tells until ctx is done, also after its stream has ended.
func (s *servers) follow(ctx context.Context, addr string, from *stream) {
	for ctx.Err() == nil {
		if from != nil {
			if err := from.each(ctx, s.account.of(from.cluster)); err != nil {
				s.stage.Fail(nil, fmt.Errorf("observer: %s: %w", addr, err))
			}
		}
		select {
		case <-time.After(followAgain):
		case <-ctx.Done():
			return
		}
		from, _ = listen(ctx, addr) // without an answer it is asked again
	}
}

// each hands over each line, until the stream ends, or until one is refused.
func (s *stream) each(ctx context.Context, see func(line string) error) error {
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	defer s.conn.Close()
	for s.lines.Scan() {
		if err := see(s.lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

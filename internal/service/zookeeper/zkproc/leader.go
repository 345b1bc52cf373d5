package zkproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// What a member that serves says of itself.
const (
	modeOf     = "Mode: "
	modeLeader = "leader"
	modeAlone  = "standalone"
)

const (
	askDeadline = time.Second           // for an answer
	askAgain    = 10 * time.Millisecond // after answers that name no leader
)

// mode asks a member once as what it serves. An error says that it does not serve.
func (m *Member) mode(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	said, err := m.ask(ctx, "srvr")
	if err != nil {
		return "", fmt.Errorf("ask %s whether it serves: %w", m.Name, err)
	}
	if _, mode, serves := strings.Cut(said, modeOf); serves {
		mode, _, _ = strings.Cut(mode, "\n")
		return mode, nil
	}
	return "", fmt.Errorf("%s does not serve: it says %q", m.Name, said)
}

// ask sends a command of four letters, and returns the answer.
func (m *Member) ask(ctx context.Context, command string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	return string(said), nil
}

// Leader asks the members until one of them alone says that it leads and most of them
// serve, and returns it. So it is never one that stands still: after a leader was paused or
// killed, Leader is over when the next one has been elected. A member that is alone leads.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	for {
		if m := c.elected(ctx); m != nil {
			return m, nil
		}
		if !sleep.For(ctx, askAgain) {
			return nil, fmt.Errorf("no member of ZooKeeper leads: %w", context.Cause(ctx))
		}
	}
}

// elected asks each member once; nil: there is no leader.
func (c *Cluster) elected(ctx context.Context) (leader *Member) {
	modes := make([]string, len(c.Members))
	var asking sync.WaitGroup
	for i, m := range c.Members {
		asking.Go(func() { modes[i], _ = m.mode(ctx) })
	}
	asking.Wait()
	serving := 0
	for i, mode := range modes {
		switch mode {
		case "":
			continue
		case modeLeader, modeAlone:
			if leader != nil {
				return nil // one of them does not know yet
			}
			leader = c.Members[i]
		}
		serving++
	}
	if serving <= len(c.Members)/2 {
		return nil
	}
	return leader
}

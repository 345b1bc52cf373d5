package zkproc

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Requests asks a member that is alone how many requests it has had so far in each session
// that has an ephemeral node now, and in the others that are named. The numbers have the
// sessions' pings in them, and the requests that opened them.
//
// Requests returns when all who wait for a lock do nothing else: each but the first of the
// ephemeral nodes below the same node has its session's watch.
func (m *Member) Requests(ctx context.Context, others map[string]int) (map[string]int, error) {
	for {
		owners, settled, err := m.waiting(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask %s for its nodes: %w", m.Name, errors.Join(err, context.Cause(ctx)))
		}
		if settled {
			return m.received(ctx, owners, others)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("not all sessions that wait watch a node: %w", context.Cause(ctx))
		case <-time.After(askAgain):
		}
	}
}

// waiting is which sessions own the ephemeral nodes, by the nodes' paths, and whether as many
// watch one as must wait.
func (m *Member) waiting(ctx context.Context) (owners map[string]string, settled bool, err error) {
	said, err := m.ask(ctx, "dump")
	if err != nil {
		return nil, false, err
	}
	owners = ephemerals(said)
	locks := make(map[string]bool)
	for node := range owners {
		locks[path.Dir(node)] = true
	}
	if said, err = m.ask(ctx, "wchp"); err != nil {
		return nil, false, err
	}
	return owners, watches(said, owners) == len(owners)-len(locks), nil
}

// ephemerals reads the answer to dump, in which the nodes of a session follow it, each after
// a tab.
func ephemerals(said string) map[string]string {
	owners, session := make(map[string]string), ""
	for line := range strings.Lines(said) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "0x") {
			session = strings.TrimSuffix(line, ":")
		}
		if node, ok := strings.CutPrefix(line, "\t"); ok && strings.HasPrefix(node, "/") {
			owners[node] = session
		}
	}
	return owners
}

// watches reads the answer to wchp, in which the sessions that watch a node follow it, each
// after a tab. It counts those that watch one of some nodes.
func watches(said string, of map[string]string) (n int) {
	node := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "\t") {
			node = line
		} else if of[node] != "" {
			n++
		}
	}
	return n
}

// connection is one in the answer to cons.
var connection = regexp.MustCompile(`recved=(\d+),sent=\d+,sid=(0x[0-9a-f]+)`)

// received is how many requests the member has had in the sessions of owners and others.
func (m *Member) received(ctx context.Context, owners map[string]string, others map[string]int) (map[string]int, error) {
	said, err := m.ask(ctx, "cons")
	if err != nil {
		return nil, fmt.Errorf("ask %s for its connections: %w", m.Name, err)
	}
	all := make(map[string]int)
	for _, found := range connection.FindAllStringSubmatch(said, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return nil, fmt.Errorf("ask %s for its connections: %w", m.Name, err)
		}
		all[found[2]] = n
	}
	some := make(map[string]int)
	for _, session := range owners {
		some[session] = all[session]
	}
	for session := range others {
		some[session] = all[session]
	}
	return some, nil
}

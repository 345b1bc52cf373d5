package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Inspect is as lock.Inspector says. It asks for each node of the queue, and tells of locks of
// Curator, too, whose words are the address of their host. ZooKeeper does not tell how long a
// session lasts.
func (e *Exclusive) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if scope == "" {
		return lock.State{}, fmt.Errorf("zklock: inspect: %w", errEmpty)
	}
	state, err := e.inspect(ctx, scope)
	if errors.Is(err, errOver) { // nobody had noticed before; the next session is new
		state, err = e.inspect(ctx, scope)
	}
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("zklock: inspect %q: %w", scope, err))
	}
	return state, nil
}

func (e *Exclusive) inspect(ctx context.Context, scope string) (lock.State, error) {
	s, err := e.lend()
	if err != nil {
		return lock.State{}, err
	}
	select {
	case <-s.known:
	case <-s.over:
		return lock.State{}, s.unknown()
	case <-ctx.Done():
		return lock.State{}, ctx.Err()
	}
	dir := s.options.root + Path(scope)
	children, err := s.children(ctx, dir)
	if err != nil {
		return lock.State{}, err
	}
	state := lock.State{Queue: true}
	var before []string
	for _, name := range queue(children) {
		party, there, err := s.party(ctx, scope, dir+"/"+name)
		switch {
		case err != nil:
			return lock.State{}, err
		case !there: // it has left meanwhile
			continue
		case lastExcluding(before, party.Mode) == "":
			state.Holders = append(state.Holders, party)
		default:
			state.Waiters = append(state.Waiters, party)
		}
		before = append(before, name)
	}
	return state, nil
}

// party is whose node it is, if the node is there. The words are its data.
func (s *session) party(ctx context.Context, scope, node string) (_ lock.Party, there bool, err error) {
	var words []byte
	stat, _, err := insist(ctx, s, func() (stat *zk.Stat, err error) {
		words, stat, err = s.conn.Get(node)
		return stat, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return lock.Party{}, false, nil
	}
	if err != nil {
		return lock.Party{}, false, err
	}
	return lock.Party{
		Grant: lock.Grant{Scope: scope, Owner: node, Token: fence.Token(stat.Czxid), Mode: ModeOf(node)},
		Words: strings.ToValidUTF8(string(words), "\uFFFD"),
	}, true, nil
}

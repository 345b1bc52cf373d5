package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// What a story says of the slot of a lock's keys.
const (
	slotMoves = "the slot of %s moves"
	slotMoved = "the slot of %s has moved"
)

// checkSlot makes the Check of a Form about the slot of a lock. What the step makes of the slot is a fact then.
func checkSlot(fact string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		about := func(fact string) string { return fmt.Sprintf(fact, step.Lock) }
		if !s.Variant.World.Settings.Flag(settingCluster) {
			return "only a Redis Cluster has slots: it needs \"nodes: 3\" and \"cluster: true\""
		}
		for _, is := range []string{slotMoved, fact} {
			if s.Facts[about(is)] {
				return about(is) + " already"
			}
		}
		for place := range s.Variant.World.Settings.Number(settingNodes) {
			for _, is := range []string{service.NodeDead, service.NodeStill} {
				if is := fmt.Sprintf(is, nameOf(place)); s.Facts[is] {
					return is + ", and carries no keys over"
				}
			}
		}
		s.Facts[about(fact)] = true
		return ""
	}
}

var moveSome = service.NewFault(scenario.Form{
	Usage: "move some keys of NAME", Own: "moves a slot of a Redis Cluster",
	About: "The slot of the lock's keys begins to move to the next master. The key that says who holds the lock is carried over, and the other keys of the lock are not, until \"move all keys of NAME\".",
	Check: checkSlot(slotMoves),
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	return s.move(ctx, story, step.Lock, "begins to move", func(ctx context.Context, m redisproc.Moving, there []string) error {
		if err := m.Begin(ctx); err != nil || len(there) == 0 { // nobody holds it
			return err
		}
		return m.Carry(ctx, there...)
	})
})

var moveAll = service.NewFault(scenario.Form{
	Usage: "move all keys of NAME", Own: "moves a slot of a Redis Cluster",
	About: "The slot of the lock's keys moves to the next master with all its keys, or with those that it still has.",
	Check: checkSlot(slotMoved),
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	return s.move(ctx, story, step.Lock, "has moved", func(ctx context.Context, m redisproc.Moving, _ []string) error {
		for _, do := range []func(context.Context) error{m.Begin, func(ctx context.Context) error { return m.Carry(ctx) }, m.End} {
			if err := do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
})

// move moves something of the slot of a lock; there are the keys that say who holds it. It returns when the account
// has what came of that.
func (s *servers) move(
	ctx context.Context, story service.Story, lock, how string, do func(_ context.Context, _ redisproc.Moving, there []string) error,
) error {
	at := story.Now()
	moving, err := service.Meanwhile(ctx, story, "the slot of "+lock+" to move", func(ctx context.Context) (m redisproc.Moving, err error) {
		var all []*redisproc.Server
		for _, n := range s.nodes {
			all = append(all, n.server)
		}
		key := story.Plan().Prefix + lock
		if m, err = redisproc.Find(ctx, all, key); err != nil {
			return m, err
		}
		defer s.account.carried()
		defer s.awaitOthers(nil)
		return m, do(ctx, m, s.account.carry(slices.Index(all, m.From), key))
	})
	if err == nil {
		to := slices.IndexFunc(s.nodes, func(n *node) bool { return n.server == moving.To })
		story.Remark(at, fmt.Sprintf("slot %d, which %s is in, %s to %s", moving.Slot, lock, how, nameOf(to)))
	}
	return err
}

// awaitOthers returns when the account has all that nodes did before, but for one.
func (s *servers) awaitOthers(than *node) {
	for _, n := range s.nodes {
		if n != than {
			n.awaitAccount()
		}
	}
}

// carry has the account tell nothing until carried: meanwhile one node can have given away a key that another one
// has not told of. there are the keys on a node that say who holds a lock.
func (a *account) carry(node int, lock string) (there []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = make(database)
	for _, key := range keysOf(lock) {
		if a.nodes[node][key] != nil {
			there = append(there, key)
		}
	}
	return there
}

func (a *account) carried() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = nil
	for _, lock := range a.locks {
		a.compare(lock, 0)
	}
}

// move applies a command by which a key goes from one node to another: the old node deletes it, and the new one
// restores it from a form that only Redis reads.
func (a *account) move(d database, command []string) {
	switch {
	case a.left == nil:
	case command[0] == "DEL":
		for _, key := range command[1:] {
			a.left[key] = d[key]
		}
	case restores(command) && a.left[command[1]] != nil:
		v := *a.left[command[1]]
		v.fields = maps.Clone(v.fields)
		d[command[1]] = &v
	}
}

// restores reports whether a command is what a stream has for a key of another node: RESTORE, or RESTORE-ASKING while
// the slot moves.
func restores(command []string) bool { return strings.HasPrefix(command[0], "RESTORE") }

// receives reports whether a node that does this gets a key of another one.
func receives(commands [][]string) bool {
	return slices.ContainsFunc(commands, restores)
}

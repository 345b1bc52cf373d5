package proc

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Node is a program that can be started again after it has ended, as a new process.
type Node struct {
	Group *Group
	Name  string
	Addr  string // at which clients reach it, HOST:PORT
	Args  []string
	// Serves asks once whether the latest process serves, and says so by a nil error.
	Serves func(context.Context) error

	mu     sync.Mutex
	latest *Process
}

// Begin starts a process for the node, whose last one must have ended, as Group.Start does.
func (n *Node) Begin() error {
	if n.Runs() {
		return fmt.Errorf("%s still runs: kill it first", n.Name)
	}
	p, err := n.Group.Start(n.Name, nil, n.Args...)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latest = p
	return nil
}

// Await returns when the latest process serves.
func (n *Node) Await(ctx context.Context) error { return n.Process().Await(ctx, n.Serves) }

// Restart starts a process for the node, whose last one must have ended, and returns when it serves.
func (n *Node) Restart(ctx context.Context) error {
	if err := n.Begin(); err != nil {
		return err
	}
	return n.Await(ctx)
}

// Process is the latest process of the node; nil before the first.
func (n *Node) Process() *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.latest
}

// Endpoint is the address at which clients reach the node, whether it serves or not.
func (n *Node) Endpoint() string { return n.Addr }

// Kill kills the latest process, and returns when it is gone.
func (n *Node) Kill() error { return n.Process().Kill() }

// Pause stops the latest process, and returns when it stands still.
func (n *Node) Pause(context.Context) error { return n.Process().Pause() }

// Resume lets the latest process go on.
func (n *Node) Resume() error { return n.Process().Resume() }

// Runs reports whether the node has a process, which may stand still.
func (n *Node) Runs() bool {
	p := n.Process()
	return p != nil && !p.hasEnded()
}

// Member is one of several nodes that start together.
type Member interface {
	Begin() error
	Await(context.Context) error
	Process() *Process
	Runs() bool
	Endpoint() string
}

// StartAll starts members, and returns when all serve; else none runs. begun is called after the
// begin of each, before the next one begins.
func StartAll[M Member](ctx context.Context, members []M, begun func(i int) error) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, KillAll(members))
		}
	}()
	for i, m := range members {
		if err := m.Begin(); err != nil {
			return err
		}
		if err := begun(i); err != nil {
			return err
		}
	}
	return AwaitAll(ctx, members)
}

// AwaitAll returns when all members serve.
func AwaitAll[M Member](ctx context.Context, members []M) error {
	for _, m := range members {
		if err := m.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// KillAll kills those of several members that run.
func KillAll[M Member](members []M) error {
	var errs []error
	for _, m := range members {
		if m.Runs() {
			errs = append(errs, m.Process().Kill())
		}
	}
	return errors.Join(errs...)
}

// Endpoints are the addresses at which clients reach members.
func Endpoints[M Member](members []M) (all []string) {
	for _, m := range members {
		all = append(all, m.Endpoint())
	}
	return all
}

// Processes are the latest ones of members.
func Processes[M Member](members []M) (all []*Process) {
	for _, m := range members {
		all = append(all, m.Process())
	}
	return all
}

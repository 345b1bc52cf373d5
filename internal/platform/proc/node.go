package proc

import (
	"errors"
	"fmt"
	"sync"
)

// Node is a program that can be started again after it has ended, as a new process. The zero
// Node has had no process yet.
type Node struct {
	mu     sync.Mutex
	latest *Process
}

// Begin starts a process for the node, whose last one must have ended, as Group.Start does.
func (n *Node) Begin(g *Group, name string, env []string, args ...string) error {
	if n.Runs() {
		return fmt.Errorf("%s still runs: kill it first", name)
	}
	p, err := g.Start(name, env, args...)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latest = p
	return nil
}

// Process is the latest process of the node, to be killed, paused and resumed; nil before the first.
func (n *Node) Process() *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.latest
}

// Runs reports whether the node has a process, which may stand still.
func (n *Node) Runs() bool {
	p := n.Process()
	return p != nil && !p.hasEnded()
}

// KillAll kills those of several nodes that run.
func KillAll[N interface {
	Process() *Process
	Runs() bool
}](nodes []N) error {
	var errs []error
	for _, n := range nodes {
		if n.Runs() {
			errs = append(errs, n.Process().Kill())
		}
	}
	return errors.Join(errs...)
}

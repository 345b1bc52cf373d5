package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// asking is a client that asks for a lock once: it has a node, or is to have one.
type asking struct {
	*client
	op, lock string
	id       string // a GUID, in the name of the node
	node     string // its path; "" before it is known
	czxid    int64
	session  int64 // whose node it is

	library *libraryLock // nil: the recipe is of this package
}

func (c *client) asking(op, scope, in string) (*asking, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	w := &asking{client: c, op: op, lock: scope, id: uuid.NewString()}
	if c.recipe.library {
		w.library = &libraryLock{of: w, lock: zk.NewLock(w.Conn, w.lock, anybody), locked: make(chan error, 1)}
	}
	return w, nil
}

// failed is why the client has not got the lock. Of what was not answered the outcome is not known.
func (w *asking) failed(err error) error {
	if broke(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &lock.UnknownError{Op: w.op, Scope: w.lock, Err: err}
	}
	return fence.Definite.Wrap(fmt.Errorf("%s %q: %w", w.op, w.lock, err))
}

// queue takes a place in the queue. With an error the place may be left behind.
func (c *client) queue(ctx context.Context, op, scope, in string) (*asking, error) {
	w, err := c.asking(op, scope, in)
	if err == nil {
		err = w.enter(ctx)
	}
	return w, err
}

func (w *asking) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return fence.Definite.Wrap(ctx.Err())
	}
	create := w.create
	if w.library != nil {
		create = w.library.create
	}
	var err error
	if w.node, err = call(ctx, func() (string, error) { return create(ctx) }, w.abandon); err != nil {
		return w.failed(err)
	}
	stat, err := ask(ctx, w.link, func() (*zk.Stat, error) {
		_, stat, err := w.Exists(w.node)
		return stat, err
	})
	if err != nil {
		w.abandon(w.node, nil)
		return w.failed(err)
	}
	if stat.Czxid == 0 { // it is gone
		return service.ErrRanOut
	}
	w.czxid, w.session = stat.Czxid, stat.EphemeralOwner
	return nil
}

// create creates the node, and returns its path. Once ctx is done nothing more is created.
func (w *asking) create(ctx context.Context) (node string, err error) {
	for {
		node, err = w.Create(w.lock+"/"+w.prefix(), nil, zk.FlagEphemeralSequential, anybody)
		if w.recipe.protected {
			node, err = w.settle(node, err)
		}
		if err == zk.ErrNoNode {
			err = w.makeParents()
		}
		switch {
		case node != "" || err != nil:
			return node, err
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}

// settle finds out what became of a node whose creation was not answered: "" where it is not
// there. A session that has expired has taken it away.
func (w *asking) settle(node string, err error) (string, error) {
	for broke(err) && !service.IsClosed(w.closing) {
		node, err = w.findOwn()
	}
	if err == zk.ErrSessionExpired {
		return "", nil
	}
	return node, err
}

// anybody may do anything with a node.
var anybody = zk.WorldACL(zk.PermAll)

func (w *asking) prefix() string { return "_c_" + w.id + "-" + w.recipe.before }

// makeParents makes the lock's own node, and those above it, as Curator does: as containers,
// which ZooKeeper removes some time after the last of their children has gone.
func (w *asking) makeParents() error {
	node := ""
	for _, name := range strings.Split(w.lock[1:], "/") {
		node += "/" + name
		if _, err := w.CreateContainer(node, nil, zk.FlagContainer, anybody); err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	return nil
}

// awaitNode returns when there is a node below the lock's own which is the one that is looked
// for: its path, and what else is known of it.
func (w *asking) awaitNode(ctx context.Context, is func(name string, data []byte, stat *zk.Stat) bool) (node string, stat *zk.Stat, err error) {
	for {
		var names []string
		changed, err := ask(ctx, w.link, func() (changed <-chan zk.Event, err error) {
			names, _, changed, err = w.ChildrenW(w.lock)
			return changed, err
		})
		if err == zk.ErrNoNode {
			if err = w.makeParents(); err == nil {
				continue
			}
		}
		if err != nil {
			return "", nil, err
		}
		for _, name := range names {
			data, stat, err := w.Get(w.lock + "/" + name)
			if err == nil && is(name, data, stat) {
				return w.lock + "/" + name, stat, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
	}
}

// findOwn is the path of the node that has the GUID; "" where there is none.
func (w *asking) findOwn() (node string, err error) {
	names, _, err := w.Children(w.lock)
	if err == zk.ErrNoNode {
		return "", nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, w.prefix()) {
			return w.lock + "/" + name, nil
		}
	}
	return "", err
}

// abandon has the recipe do in the background what it does about a node that the client does
// not want any more; "" is one that is not known.
func (w *asking) abandon(node string, _ error) {
	switch {
	case w.library != nil:
		w.library.letGo()
	case node != "" && w.recipe.protected:
		go w.remove(node)
	}
}

// before are the nodes for whose end the client waits, the last one last: those before its own, and
// for a reader only those of writers. The error is service.ErrRanOut where its own is gone.
func (w *asking) before(ctx context.Context) (nodes []string, err error) {
	names, err := w.children(ctx, w.lock)
	if err != nil {
		return nil, err
	}
	own := path.Base(w.node)
	if !slices.Contains(names, own) {
		return nil, service.ErrRanOut
	}
	for _, name := range names {
		if sequenceOf(name) < sequenceOf(own) && (w.recipe.mode != fence.Shared || modeOf(name) != fence.Shared) {
			nodes = append(nodes, name)
		}
	}
	slices.SortFunc(nodes, func(a, b string) int { return sequenceOf(a) - sequenceOf(b) })
	return nodes, nil
}

// digits is how long the number is at the end of a name.
const digits = 10

func sequenceOf(name string) int {
	n, _ := strconv.Atoi(name[max(0, len(name)-digits):]) // ZooKeeper made it
	return n
}

// first returns nil where it is the client's turn, and else lock.ErrLocked.
func (w *asking) first(ctx context.Context) error {
	before, err := w.before(ctx)
	if err == nil && len(before) > 0 {
		return lock.ErrLocked
	}
	return err
}

func (w *asking) wait(ctx context.Context) error {
	if w.library != nil {
		return w.library.wait(ctx)
	}
	for {
		before, err := w.before(ctx)
		if err != nil || len(before) == 0 {
			return err
		}
		watched := before[len(before)-1]
		if w.recipe.herd {
			watched = before[0]
		}
		if err := w.awaitEnd(ctx, w.lock+"/"+watched); err != nil {
			return err
		}
	}
}

// awaitEnd returns when something has become of a node.
func (w *asking) awaitEnd(ctx context.Context, node string) error {
	changed, err := ask(ctx, w.link, func() (<-chan zk.Event, error) {
		_, _, changed, err := w.GetW(node)
		return changed, err
	})
	switch {
	case err == zk.ErrNoNode:
		return nil
	case err != nil:
		return err
	}
	_, lost := w.state()
	select {
	case <-lost:
		return service.ErrRanOut
	case <-changed: // where the session has expired it is told of that next
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// granted is the client's tenure, where err, the end of its wait, is nil.
func (w *asking) granted(ctx context.Context, err error) (service.Tenure, error) {
	if err := w.over(ctx, err); err != nil {
		return nil, err
	}
	service.Stand(ctx, path.Base(w.node))
	t := newTenure(w)
	t.begin()
	return t, nil
}

// over has the client leave the queue, where err says that its wait has failed.
func (w *asking) over(ctx context.Context, err error) error {
	switch err {
	case nil:
		return nil
	case service.ErrRanOut: // as far as this side knows
		w.abandon(w.node, nil)
		return err
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), service.LastAnswer)
	defer cancel()
	left := w.delete(leaving)
	if left != nil && left != zk.ErrNoNode {
		return &lock.UnknownError{Op: w.op, Scope: w.lock, Err: errors.Join(err, left)}
	}
	return fence.Definite.Wrap(err)
}

// delete deletes the node. Where that is not answered, a protected one is deleted in the background.
func (w *asking) delete(ctx context.Context) error {
	_, err := call(ctx, func() (struct{}, error) {
		if w.library != nil && w.library.held {
			return struct{}{}, w.library.lock.Unlock()
		}
		err := w.Delete(w.node, -1)
		if broke(err) {
			w.abandon(w.node, nil)
		}
		return struct{}{}, err
	}, nil)
	return err
}

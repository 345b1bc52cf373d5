package zklock

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// take puts the tenure's node into the queue of its scope, and begins the tenure when it is
// its turn. Without wait it returns lock.ErrLocked where it is not.
func (t *Tenure) take(ctx context.Context, wait bool) error {
	go t.enter()
	select {
	case <-t.entered:
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.refusal != nil {
		return t.refusal
	}
	err := t.await(ctx, wait)
	if errors.Is(err, errOver) {
		return t.session.ended()
	}
	return err
}

// errGone: somebody has deleted the node by hand, or the session has just expired.
var errGone = errors.New("its node is gone")

// enter has the node created. It ends with the session, and not with the attempt, so that
// it is known in the end what there is.
func (t *Tenure) enter() {
	defer close(t.entered)
	ctx, s := context.Background(), t.session
	select {
	case <-s.known:
	case <-s.over:
		t.refusal = s.unknown()
		return
	}
	for {
		var err error
		t.node, err = ask(ctx, s, func() (string, error) {
			return s.conn.Create(t.dir+"/"+t.prefix, t.words, zk.FlagEphemeralSequential, s.options.acl)
		})
		switch {
		case err == nil:
			return
		case errors.Is(err, zk.ErrNoNode):
			err = t.makeDir(ctx)
		case !refused(err):
			t.node, err = t.find(ctx)
		}
		if t.node != "" || err != nil {
			t.refusal = err
			return
		}
	}
}

// find looks for the node, whose creation had no answer; "": it was not created, and will
// not be. A request of an earlier
// connection that comes after that is refused, because the session has moved.
func (t *Tenure) find(ctx context.Context) (node string, err error) {
	children, err := t.session.children(ctx, t.dir)
	for _, name := range children {
		if strings.HasPrefix(name, t.prefix) {
			return t.dir + "/" + name, nil
		}
	}
	return "", err
}

// children is the names of the nodes below a path. A server first catches up with what the
// servers know.
func (s *session) children(ctx context.Context, dir string) ([]string, error) {
	children, _, err := insist(ctx, s, func() ([]string, error) {
		if _, err := s.conn.Sync(dir); err != nil {
			return nil, err
		}
		children, _, err := s.conn.Children(dir)
		return children, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return children, err
}

// makeDir makes the path below which the node is to be, of containers, which ZooKeeper
// removes some time after they are empty.
func (t *Tenure) makeDir(ctx context.Context) error {
	s := t.session
	for i, c := range t.dir + "/" {
		if c != '/' || i == 0 {
			continue
		}
		_, _, err := insist(ctx, s, func() (string, error) {
			return s.conn.CreateContainer(t.dir[:i], nil, zk.FlagContainer, s.options.acl)
		})
		if errors.Is(err, zk.ErrNoNode) { // the container above was removed meanwhile
			return nil
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// await stands in the queue until it is its turn.
func (t *Tenure) await(ctx context.Context, wait bool) error {
	for {
		trust := t.session.trusted()
		token, before, err := t.look(ctx)
		switch {
		case err != nil:
			return err
		case before != "" && !wait:
			return lock.ErrLocked
		case before != "":
			if err := t.awaitChange(ctx, before); err != nil {
				return err
			}
		case trust.Err() == nil:
			t.begin(trust, token)
			return nil
		default: // the connection was lost before the answer came, and is another one now
			time.Sleep(t.session.pause())
		}
	}
}

// look is the token of the node, and the name of the node that it has to wait for; "": it is
// its turn. It asks for both at once.
func (t *Tenure) look(ctx context.Context) (token fence.Token, before string, err error) {
	s := t.session
	known := make(chan error, 1)
	go func() {
		stat, _, err := insist(ctx, s, func() (*zk.Stat, error) {
			_, stat, err := s.conn.Get(t.node)
			return stat, err
		})
		if err == nil {
			token = fence.Token(stat.Czxid)
		}
		known <- err
	}()
	children, _, err := insist(ctx, s, func() ([]string, error) {
		children, _, err := s.conn.Children(t.dir)
		return children, err
	})
	if err := cmp.Or(<-known, err); err != nil {
		if errors.Is(err, zk.ErrNoNode) {
			err = errGone
		}
		return 0, "", err
	}
	names := queue(children)
	place := slices.Index(names, path.Base(t.node))
	if place < 0 {
		return 0, "", errGone
	}
	return token, lastExcluding(names[:place], t.grant.Mode), nil
}

// awaitChange returns nil when a node may be gone. The client keeps the watch over broken
// connections.
func (t *Tenure) awaitChange(ctx context.Context, name string) error {
	s := t.session
	changed, _, err := insist(ctx, s, func() (<-chan zk.Event, error) {
		_, _, changed, err := s.conn.GetW(t.dir + "/" + name)
		return changed, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.over:
		return errOver
	}
}

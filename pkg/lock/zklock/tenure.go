package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in ZooKeeper: a node that no other tenure ever has, in the
// session of its Backend.
type Tenure struct {
	session *session
	dir     string
	prefix  string        // of the node's name, and of no other
	words   []byte        // the node's data
	entered chan struct{} // closed when it is known whether there is a node
	node    string        // its path; "": there is none
	refusal error         // why there is none
	grant   lock.Grant
	id      int64 // of the session
	freed   atomic.Bool

	life attempt.Life // ends with the trust in the session, and with its cause
	keep func() bool  // has the node not swept where the trust ends
}

var _ lock.Renewer = (*Tenure)(nil)

// newTenure names the node that the tenure will have.
func newTenure(s *session, scope string, mode fence.Mode, kind, words string) *Tenure {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	uuid := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return &Tenure{
		session: s, dir: s.options.root + Path(scope), prefix: "_c_" + uuid + "-" + kind, words: []byte(words),
		entered: make(chan struct{}), grant: lock.Grant{Scope: scope, Mode: mode},
	}
}

// begin begins the tenure, which ends with the trust in its session.
func (t *Tenure) begin(trust context.Context, token fence.Token) {
	t.grant.Owner, t.grant.Token = t.node, token
	t.id = t.session.conn.SessionID()
	t.life.Begin(trust)
	t.keep = context.AfterFunc(trust, t.sweep)
}

// Grant returns what was granted. The owner is the path of the node; the token is its czxid.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, and when the tenure is lost or cut off, as the package's
// documentation says. A node that somebody deletes by hand is not noticed.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// SessionID returns the ID of the session that the tenure stands on, as do others of its
// Backend. It is no token.
func (t *Tenure) SessionID() int64 { return t.id }

// OnRenewal is as lock.Renewer says, of the session, for all of its tenures. ZooKeeper's
// client tells nothing of its pings. So a renewal has failed where the connection is lost, and
// where no server can be reached after that; the session is renewed where a server knows it
// by a new connection.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) {
	t.session.renewals.Listen(t.life.Context(), f)
}

// Unlock deletes the node. If the connection breaks meanwhile it asks again, by the next
// one. It returns when ctx is done; give it a deadline. Where the outcome is unknown the node
// is removed in the background, as the package's documentation says.
func (t *Tenure) Unlock(ctx context.Context) error {
	was, err := t.remove(ctx)
	t.keep()
	t.life.Release()
	if err != nil && !t.session.lost() {
		go t.sweep()
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("zklock: %w", err)}
	}
	if !was || t.freed.Swap(true) {
		return fmt.Errorf("zklock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// remove deletes the node, and returns whether it was there. An error says that it may be
// there still.
func (t *Tenure) remove(ctx context.Context) (was bool, err error) {
	_, again, err := insist(ctx, t.session, func() (struct{}, error) {
		return struct{}{}, t.session.conn.Delete(t.node, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return again, nil // an earlier request had no answer, and has deleted it
	}
	return err == nil, err
}

// sweep removes the node that nobody needs, for as long as the session lasts.
func (t *Tenure) sweep() {
	if <-t.entered; t.node != "" {
		_, _ = t.remove(context.Background())
	}
}

// abandon removes the node of an attempt that failed. It returns why the node may be left.
func (t *Tenure) abandon(ctx context.Context) error {
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	err := t.withdraw(late)
	if err == nil || t.session.lost() {
		return nil
	}
	go t.sweep()
	return err
}

// withdraw removes the node once it is known.
func (t *Tenure) withdraw(ctx context.Context) error {
	select {
	case <-t.entered:
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.node == "" {
		if errors.Is(t.refusal, errOver) {
			return errOver
		}
		return nil
	}
	_, err := t.remove(ctx)
	return err
}

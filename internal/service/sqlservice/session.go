package sqlservice

import (
	"context"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// session is a connection, and the tenures whose locks it has. Whoever asks for something takes the session, and then
// gives it back. While nobody has taken it, its end is waited for, with which the tenures end.
type session struct {
	Conn
	free    chan struct{} // has an element while nobody has taken the session; closed with the connection
	tenures []*heldTenure // that were not unlocked
	unwatch func()        // returns when nobody waits for the connection's end
}

// session takes a session: a new one, or the one that has all locks of the client.
func (c *Client) session(ctx context.Context, of string) (*session, error) {
	one := c.Settings[settingConnection] == connectionOne // not all databases have the setting
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept != nil {
		switch err := kept.take(ctx); {
		case err == nil && kept.tenures[0].Err() == nil:
			return kept, nil
		case err == nil: // its connection has ended
			kept.give()
		case ctx.Err() != nil:
			return nil, err
		}
	}
	conn, err := c.Database.Connect(ctx, of)
	if err != nil {
		return nil, err
	}
	s := &session{Conn: conn, free: make(chan struct{}, 1)}
	if one {
		c.mu.Lock()
		c.kept = s
		c.mu.Unlock()
	}
	return s, nil
}

// take waits until nobody else has the session, which it takes also if ctx is done, if it is free. The error is
// lock.ErrLost if the session has ended.
func (s *session) take(ctx context.Context) error {
	var is bool
	select {
	case _, is = <-s.free:
	default:
		select {
		case _, is = <-s.free:
		case <-ctx.Done():
			return fence.Definite.Wrap(ctx.Err())
		}
	}
	if !is {
		return lock.ErrLost
	}
	s.unwatch()
	return nil
}

// give gives the session back. One that has no lock ends.
func (s *session) give() {
	if len(s.tenures) == 0 {
		s.HangUp()
		close(s.free)
		return
	}
	s.watch()
	s.free <- struct{}{}
}

// forget takes a tenure from those that the session has.
func (s *session) forget(t *heldTenure) {
	s.tenures = slices.DeleteFunc(s.tenures, func(o *heldTenure) bool { return o == t })
}

func (s *session) watch() {
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		if s.Ended(ctx) {
			for _, t := range s.tenures {
				t.End(lock.ErrLost)
			}
		}
	})
	s.unwatch = func() {
		stop()
		watching.Wait()
	}
}

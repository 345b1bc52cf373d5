package locktest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of tokens.

// tokensAfterRelease: more tokens than a number of eight bits can count.
func tokensAfterRelease(t *trial) error {
	return t.growFrom(append([]Client{t.a, t.a, t.b}, slices.Repeat([]Client{t.a}, 257)...)...)
}

// growFrom is nil if tokens grow where the clients have the lock in turn.
func (t *trial) growFrom(clients ...Client) error {
	var before lock.Grant
	for _, c := range clients {
		after, err := t.pass(c)
		if err != nil {
			return err
		}
		if err := t.grow(before, after); err != nil {
			return err
		}
		before = after
	}
	return nil
}

func tokensAfterExpiry(t *trial) error {
	tenure, err := t.lockAndCrash()
	if err != nil {
		return err
	}
	before := tenure.Grant()
	after, err := t.pass(t.b)
	if err != nil {
		return err
	}
	return t.grow(before, after)
}

// tokensAfterIdleness: a number that is kept as long as a lock, or ten times as long, is forgotten by then. Each scope has
// grants of another kind, and in the last one nobody unlocks the tenure before.
func tokensAfterIdleness(t *trial) error {
	ways := append(t.ways(), t.ways()[0])
	grants := make([]lock.Grant, len(ways))
	for i, way := range ways {
		tenure, err := t.lockIn(way.of(t.a), fmt.Sprint(t.scope, "/", i))
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		grants[i] = tenure.Grant()
		if i == len(ways)-1 {
			break
		}
		if err := t.unlock(tenure); err != nil {
			return err
		}
	}
	if t.a.Crash != nil {
		t.a.Crash()
	} else {
		ways = ways[:len(ways)-1]
	}
	time.Sleep(max(11*t.TTL, t.bound())) // stands for no event: nobody does anything
	for i, way := range ways {
		tenure, err := t.lockIn(way.of(t.b), grants[i].Scope)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		if err := errors.Join(t.grow(grants[i], tenure.Grant()), t.unlock(tenure)); err != nil {
			return err
		}
	}
	return nil
}

// grow is nil if after has the higher token, where there are tokens.
func (t *trial) grow(before, after lock.Grant) error {
	if !t.NoToken && after.Token <= before.Token {
		return fmt.Errorf("%+v was granted after %+v, and its token is not higher", after, before)
	}
	return nil
}

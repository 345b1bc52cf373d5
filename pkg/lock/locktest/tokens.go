package locktest

import (
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

// tokensAfterIdleness: a number that is kept as long as a lock, or a few times as long, is
// forgotten by then.
func tokensAfterIdleness(t *trial) error {
	before, err := t.pass(t.a)
	if err != nil {
		return err
	}
	time.Sleep(t.long()) // stands for no event: nobody does anything
	after, err := t.pass(t.b)
	if err != nil {
		return err
	}
	return t.grow(before, after)
}

// grow is nil if after has the higher token, where there are tokens.
func (t *trial) grow(before, after lock.Grant) error {
	if !t.NoToken && after.Token <= before.Token {
		return fmt.Errorf("%+v was granted after %+v, and its token is not higher", after, before)
	}
	return nil
}

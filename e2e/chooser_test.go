package e2e

import (
	"fmt"
	"math/rand/v2"

	"github.com/fencelab/fencelab/internal/judge/linear"
)

// Few, so that clients meet.
const (
	scopes = 4
	keys   = 3 // of each scope
)

func scope(i int) string  { return fmt.Sprint("/lock", i) }
func key(i, j int) string { return fmt.Sprintf("key%d.%d", i, j) }

// chooser chooses what a client does next.
type chooser struct {
	id    int
	rand  *rand.Rand
	issue func() int64
	count int               // of values, so that each is another
	held  [scopes][]*tenure // the last is the current one; the others should be given up
	again *linear.Input     // an operation to be sent once more, as it was
}

type tenure struct {
	token, sequence int64
	shared          bool
}

func newChooser(id int, r *rand.Rand, issue func() int64) *chooser {
	return &chooser{id: id, rand: r, issue: issue}
}

func (c *chooser) chance(percent int) bool { return c.rand.IntN(100) < percent }

func (c *chooser) next() linear.Input {
	if c.again != nil {
		in := *c.again
		c.again = nil
		return in
	}
	i := c.rand.IntN(scopes)
	in := linear.Input{Scope: scope(i)}
	if c.chance(8) {
		in.Kind = linear.Mark
		return in
	}
	t := c.tenure(i)
	in.Token, in.Shared = t.token, t.shared
	if n := c.rand.IntN(100); n < 35 {
		in.Kind, in.Key = linear.Read, key(i, c.rand.IntN(keys))
		if n < 20 {
			in.Token = 0
		}
		return in
	}
	switch n := c.rand.IntN(100); {
	case n < 3:
		in.Token = 0 // refused as missing
	case n < 6:
		in.Token = -t.token // refused as invalid
	case t.shared && n < 95: // and the others are refused as invalid
	case n < 50 || t.shared:
		t.sequence++
		in.Sequence = t.sequence
		if c.chance(10) {
			in.Sequence = max(1, t.sequence-2) // refused as stale
		}
	}
	c.change(&in, i)
	return in
}

// grant is a new tenure, which shares its lock or does not.
func (c *chooser) grant() *tenure { return &tenure{token: c.issue(), shared: c.chance(40)} }

// tenure is the one to act in: mostly the current one, which now and then ends,
// and sometimes one of before, by a client that has not noticed.
func (c *chooser) tenure(i int) *tenure {
	held := c.held[i]
	if len(held) == 0 || c.chance(10) {
		held = append(held, c.grant())
		c.held[i] = held[max(0, len(held)-3):]
	}
	if c.chance(15) {
		return held[c.rand.IntN(len(held))]
	}
	return held[len(held)-1]
}

// change fills in a write, a delete or a batch.
func (c *chooser) change(in *linear.Input, i int) {
	one := func(j int) linear.Change {
		if c.chance(20) {
			return linear.Change{Key: key(i, j), Delete: true}
		}
		c.count++
		return linear.Change{Key: key(i, j), Value: fmt.Sprintf("%d-%d", c.id, c.count)}
	}
	if c.chance(25) {
		in.Kind = linear.Batch
		for j := range keys {
			in.Changes = append(in.Changes, one(j))
		}
		return
	}
	in.Changes = []linear.Change{one(c.rand.IntN(keys))}
	in.Kind = linear.Write
	if in.Changes[0].Delete {
		in.Kind = linear.Delete
	}
}

// learn has the client act on an answer. What has a sequence number is sent
// again where its outcome is unknown, and sometimes where it was done: the
// storage drops it then. Who is told to be stale mostly takes the lock anew.
func (c *chooser) learn(in linear.Input, out linear.Output) {
	switch out.Outcome {
	case linear.Unknown, linear.Done:
		if in.Sequence != 0 && in.Kind != linear.Read && c.chance(map[linear.Outcome]int{linear.Unknown: 80, linear.Done: 15}[out.Outcome]) {
			c.again = &in
		}
	case linear.Stale:
		for i := range scopes {
			if held := c.held[i]; in.Scope == scope(i) && in.Token == held[len(held)-1].token && c.chance(60) {
				c.held[i] = append(held, c.grant())
			}
		}
	}
}

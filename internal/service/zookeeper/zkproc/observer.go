package zkproc

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// Observer is a member without a vote. It hears of what the others have done, and answers clients as they do.
type Observer struct {
	*Member
	links []*network.Link // to the others
}

// observes are its own settings. It stays with a leader of which it hears nothing for a minute; one that goes on with
// reads then leaves as followers do.
func observes(readOnly bool) string {
	const observer = "peerType=observer\n"
	if readOnly {
		return observer
	}
	return observer + "syncLimit=600\n"
}

// observe makes a member the observer. peers are the addresses by which members reach each other, two for each of
// them, its own last; known are those by which it finds them.
func observe(m *Member, peers []string) (o *Observer, known []string, err error) {
	o, known = &Observer{Member: m}, slices.Clone(peers)
	for i, addr := range peers[:len(peers)-2] {
		l, err := network.New(addr)
		if err != nil {
			return nil, nil, err
		}
		m.Group.After(l.Close)
		o.links = append(o.links, l)
		known[i] = l.Addr()
	}
	return o, known, nil
}

// Isolate has nothing pass between the observer and the other members. Clients reach it as before.
func (o *Observer) Isolate() {
	for _, l := range o.links {
		l.Tx.Shut()
		l.Rx.Shut()
	}
}

// AwaitReadOnly returns when the observer has lost the other members, and serves those who only read.
func (o *Observer) AwaitReadOnly(ctx context.Context) error {
	for {
		if mode, _ := o.mode(ctx); mode == modeReads {
			return nil
		}
		if !sleep.For(ctx, askAgain) {
			return fmt.Errorf("%s does not go on with reads: %w", o.Name, context.Cause(ctx))
		}
	}
}

package natslock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func TestLaws(t *testing.T) { locktest.Run(t, subject(start(t, 1).Members[0].Addr, ttl)) }

// TestLawsOfRestarts: a server that is killed and started again has all locks. Leases are longer
// here than that takes.
func TestLawsOfRestarts(t *testing.T) {
	m := start(t, 1).Members[0]
	s := subject(m.Addr, long)
	s.Restart = func(ctx context.Context) error { return errors.Join(m.Process().Kill(), m.Restart(ctx)) }
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsOfLostLeaders: so have three servers whose leader is killed and started again.
func TestLawsOfLostLeaders(t *testing.T) {
	need.Night(t, "to wait for elections")
	c := start(t, 3)
	s := subject(c.Members[0].Addr, long)
	s.Restart = func(ctx context.Context) error {
		leader, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		return errors.Join(leader.Process().Kill(), leader.Restart(ctx))
	}
	drivertest.LawsOfRestarts(t, s)
}

// TestLeaderAlone: a leader that has lost the others may still do what it was asked for, when one is back. So an attempt is
// not known to have failed, also where a second request was refused.
func TestLeaderAlone(t *testing.T) {
	need.Night(t, "to wait for elections")
	c := start(t, 3)
	leader, err := c.Leader(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := join(t, leader.Addr, long)
	for _, m := range c.Members {
		if m != leader {
			if err := m.Process().Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(bounded(t), 3*time.Second)
	defer cancel()
	_, err = b.TryLock(ctx, scope)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) {
		t.Errorf("TryLock returned %v, want that its outcome is unknown", err)
	}
}

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := start(t, 1).Members[0].Addr
	for name, broken := range map[string]drivertest.Broken{
		"a token of its own":      drivertest.ATokenOfItsOwn,
		"an unlock that is never": drivertest.AnUnlockThatIsNever,
	} {
		t.Run(name, func(t *testing.T) { broken.Catches(bounded(t), t, subject(addr, ttl)) })
	}
}

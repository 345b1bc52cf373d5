package natslock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/tools/need"
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

package eslock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func TestLaws(t *testing.T) {
	addr := node.Get(t).Addr
	locktest.Run(t, subject(addr, ttl, created(t, addr)))
}

// TestLawsOfRestarts: a node that is killed and started again has all locks. Leases are longer
// here than that takes.
func TestLawsOfRestarts(t *testing.T) {
	own := estest.Start(t)
	s := subject(own.Addr, long, created(t, own.Addr))
	s.Restart = func(ctx context.Context) error { return errors.Join(own.Kill(), own.Restart(ctx)) }
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	for name, broken := range map[string]drivertest.Broken{
		"writers that are readers": {Wrap: func(b lock.Backend) lock.Backend { return lock.Shared(b.(lock.Sharer)) }, Law: "one tenure at a time"},
		"a token of its own":       drivertest.ATokenOfItsOwn,
		"an unlock that is never":  drivertest.AnUnlockThatIsNever,
	} {
		t.Run(name, func(t *testing.T) { broken.Catches(bounded(t), t, subject(addr, ttl, index)) })
	}
}

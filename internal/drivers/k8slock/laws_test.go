package k8slock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func TestLaws(t *testing.T) { locktest.Run(t, subject(kubetest.Start(t).API.Addr, ttl)) }

// TestLawsOfRestarts: an API server that is killed, as its etcd is, and started again has all locks. Leases are longer here
// than that takes.
func TestLawsOfRestarts(t *testing.T) {
	c := kubetest.Start(t)
	s := subject(c.API.Addr, long)
	s.Restart = func(ctx context.Context) error {
		return errors.Join(c.API.Kill(), c.Etcd.Kill(), c.Etcd.Restart(ctx), c.API.Restart(ctx))
	}
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	for name, broken := range map[string]drivertest.Broken{
		"a token of its own":      drivertest.ATokenOfItsOwn,
		"an unlock that is never": drivertest.AnUnlockThatIsNever,
	} {
		t.Run(name, func(t *testing.T) { broken.Catches(bounded(t), t, subject(addr, ttl)) })
	}
}

package zklock_test

import (
	"context"
	"testing"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// TestLeader: where the leader of three members is killed, or stands still, the holder keeps
// the lock, the waiter keeps its place, and tokens grow.
func TestLeader(t *testing.T) {
	ctx, cluster := bounded(t), zktest.Start(t, 3)
	a, b := backend(t, long, cluster.Endpoints()), backend(t, long, cluster.Endpoints())
	eye := look(t, cluster.Endpoints())
	for name, fault := range map[string]struct {
		begin func(*zkproc.Member) error
		end   func(context.Context, *zkproc.Member) error
	}{
		"killed": {
			func(m *zkproc.Member) error { return m.Process().Kill() },
			func(ctx context.Context, m *zkproc.Member) error { return m.Restart(ctx) },
		},
		"paused": {
			func(m *zkproc.Member) error { return m.Process().Pause() },
			func(_ context.Context, m *zkproc.Member) error { return m.Process().Resume() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			tenure := take(ctx, t, a)
			waiting := inBackground(ctx, b)
			eye.until(ctx, t, 2)
			leader, err := cluster.Leader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := fault.begin(leader); err != nil {
				t.Fatal(err)
			}
			if _, err := cluster.Leader(ctx); err != nil {
				t.Fatal(err)
			}
			unlock(ctx, t, tenure)
			next := granted(t, waiting)
			if next.Grant().Token <= tenure.Grant().Token {
				t.Errorf("the token is %d, after %d", next.Grant().Token, tenure.Grant().Token)
			}
			if err := fault.end(ctx, leader); err != nil {
				t.Fatal(err)
			}
			unlock(ctx, t, next)
			eye.until(ctx, t, 0)
		})
	}
}

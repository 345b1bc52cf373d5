package interop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// TestFairClock: an attempt of a Redisson whose clock is ten minutes ahead takes the place of a
// Redisson that waits for a fair lock. The lock becomes free, and the waiter is not told.
func TestFairClock(t *testing.T) {
	javatest.Need(t)
	javatest.NeedClock(t)
	s := servers["Redis"](t)
	for ahead, empties := range map[string]bool{"0s": false, "10m": true} {
		t.Run(ahead, func(t *testing.T) {
			group := proctest.Group(t)
			here := inJava(group, "here", "fair", "redisson", s, nil)
			there := inJava(group, "there", "fair", "redisson", s, java.Env(setting.Values{java.Ahead.Name: ahead}))
			p := &pair{T: t, queue: s.queue, answers: make(chan string, 100)}
			t.Cleanup(func() { end(t, p.process(there)) })
			holder, other := p.user(here, "/fair-"+ahead), p.user(there, "/fair-"+ahead)
			waiter := holder.another()
			holder.do("lock", "locked")
			waiter.send("lock")
			waiter.waits(1)
			other.do("try", "refused")
			if !empties {
				waiter.waits(1)
				holder.send("unlock")
				p.await(deadline, holder.says("unlocked"), waiter.says("locked"))
				return
			}
			waiter.waits(0)
			holder.do("unlock", "unlocked")
			waiter.another().do("try", "locked") // and no answer of the waiter comes before
		})
	}
}

// end has a process end by itself, as libfaketime leaves files in shared memory where its process
// is killed.
func end(t *testing.T, p *proc.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := errors.Join(p.Stdin.Close(), p.AwaitEnd(ctx)); err != nil {
		t.Error(err)
	}
}

package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenQueues are fair subjects that are unfair in one situation only.
var brokenQueues = []brokenBackend{
	{"the fifth to come is served first", from(sharing, serving(queue{
		next: func(modes []fence.Mode) int {
			if len(modes) == 5 {
				return 4
			}
			return 0
		},
	})), []string{"waiters are served in their order"}},
	{"the last takes the place of one who leaves", from(sharing, serving(queue{lastMovesUp: true})), []string{"the order outlives one who leaves"}},
	{"readers join readers", from(sharing, serving(queue{readersJoin: true})), []string{"readers do not overtake a waiting writer"}},
	{"of three who wait readers are served first", from(sharing, serving(queue{
		next: func(modes []fence.Mode) int {
			if i := slices.Index(modes, fence.Shared); len(modes) > 2 && i >= 0 {
				return i
			}
			return 0
		},
	})), []string{"readers and writers are served in their order"}},
}

// queue is an order in which waiters are served. The zero queue is a fair one.
type queue struct {
	next        func(modes []fence.Mode) int // which of those that wait is served next
	lastMovesUp bool                         // takes the place of one who leaves
	readersJoin bool                         // come in without a place where readers have the lock
}

// serving has those who wait look again and again whether it is their turn and the lock is
// free.
func serving(q queue) func(locktest.Subject) locktest.Subject {
	type place struct{ mode fence.Mode }
	return func(s locktest.Subject) locktest.Subject {
		var mu sync.Mutex
		lines := make(map[string][]*place)
		turn := func(p *place, scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			var modes []fence.Mode
			for _, other := range lines[scope] {
				modes = append(modes, other.mode)
			}
			next := 0
			if q.next != nil {
				next = q.next(modes)
			}
			return lines[scope][next] == p
		}
		leave := func(p *place, scope string, served bool) {
			mu.Lock()
			defer mu.Unlock()
			line := lines[scope]
			i, last := slices.Index(line, p), len(line)-1
			if q.lastMovesUp && !served && i < last {
				line[i] = line[last]
				lines[scope] = line[:last]
				return
			}
			lines[scope] = slices.Delete(line, i, i+1)
		}
		waiting := func(try lockFunc, mode fence.Mode) lockFunc {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				if q.readersJoin && mode == fence.Shared {
					if t, err := try(ctx, scope); !errors.Is(err, lock.ErrLocked) {
						return t, err
					}
				}
				p := &place{mode}
				mu.Lock()
				lines[scope] = append(lines[scope], p)
				mu.Unlock()
				for {
					if turn(p, scope) {
						if t, err := try(ctx, scope); !errors.Is(err, lock.ErrLocked) {
							leave(p, scope, err == nil)
							return t, err
						}
					}
					select {
					case <-time.After(ttl / 100):
					case <-ctx.Done():
						leave(p, scope, false)
						return nil, ctx.Err()
					}
				}
			}
		}
		return opening(func(c *locktest.Client) {
			tryLock, tryRLock := c.TryLock, c.Backend.(lock.Sharer).TryRLock
			c.Backend = sharingMethods{
				methods{tryLock, waiting(tryLock, fence.Exclusive)},
				methods{tryRLock, waiting(tryRLock, fence.Shared)},
			}
		})(s)
	}
}

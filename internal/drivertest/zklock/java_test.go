package zklock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/fencelab/fencelab/internal/drivertest/javapeer"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// beside is a lock of ours, and the peer in Java that has the same one.
type beside struct {
	eye
	java *javapeer.Peer
	ours lock.Backend
}

// TestCurator: Curator's locks and ours exclude each other and wake each other, both ways,
// and readers hold a lock together.
func TestCurator(t *testing.T) {
	folder := filepath.Join("testdata", "curator")
	libraries := javapeer.Libraries(t, folder, "Curator")
	server := zktest.Start(t, 1).Members[0]
	servers := []string{server.Addr}
	java := javapeer.Start(t, folder, libraries, server.Addr, scope)
	mutex, err := zklock.Mutex(servers, long)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mutex.Close)
	both := backend(t, long, servers)
	seen := look(t, servers)
	for name, test := range map[string]func(context.Context, *testing.T){
		"mutex": func(ctx context.Context, t *testing.T) { eachOther(ctx, t, "mutex", beside{seen, java, mutex}) },
		"write": func(ctx context.Context, t *testing.T) { eachOther(ctx, t, "write", beside{seen, java, both}) },
		"our readers, their writer": func(ctx context.Context, t *testing.T) {
			eachOther(ctx, t, "write", beside{seen, java, lock.Shared(both)})
		},
		"their readers, our writer": func(ctx context.Context, t *testing.T) {
			eachOther(ctx, t, "read", beside{seen, java, both})
		},
		"readers": func(ctx context.Context, t *testing.T) {
			java.Do(t, "read lock", "locked")
			reader := take(ctx, t, lock.Shared(both))
			java.Do(t, "read unlock", "unlocked")
			java.Do(t, "read try", "locked")
			java.Do(t, "read unlock", "unlocked")
			unlock(ctx, t, reader)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := bounded(t)
			test(ctx, t)
			seen.until(ctx, t, 0)
		})
	}
}

// eachOther sees that a kind of the peer's lock and ours exclude each other, and wake each
// other.
func eachOther(ctx context.Context, t *testing.T, kind string, b beside) {
	b.java.Do(t, kind+" try", "locked")
	if _, err := b.ours.TryLock(ctx, scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("while the peer holds the lock: %v, want ErrLocked", err)
	}
	waiting := inBackground(ctx, b.ours)
	b.until(ctx, t, 2)
	b.java.Do(t, kind+" unlock", "unlocked")
	holder := granted(t, waiting)

	b.java.Do(t, kind+" try", "refused")
	b.java.Send(t, kind+" lock")
	b.until(ctx, t, 2)
	unlock(ctx, t, holder)
	b.java.Want(t, "locked")
	b.java.Do(t, kind+" unlock", "unlocked")
	unlock(ctx, t, take(ctx, t, b.ours))
}

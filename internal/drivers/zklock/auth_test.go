package zklock_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// TestAuth: nodes with an ACL are for those who say who they are; also after the connection
// was lost.
func TestAuth(t *testing.T) {
	servers := zktest.Start(t, 1).Endpoints()
	acl := zklock.ACL(zk.DigestACL(zk.PermAll, "app", "secret")...)
	ctx := bounded(t)
	l := linkTo(t, servers[0])
	a := backend(t, long, []string{l.Addr()}, acl, zklock.Auth("digest", []byte("app:secret")))
	unlock(ctx, t, take(ctx, t, a))
	l.Cut()
	unlock(ctx, t, take(ctx, t, a))
	stranger := backend(t, long, servers, acl)
	if _, err := stranger.Lock(ctx, scope); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger gets %v, want %v", err, zk.ErrNoAuth)
	}
	unknown := backend(t, long, servers, zklock.Auth("nothing", nil))
	if _, err := unknown.Lock(ctx, scope); !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("an unknown scheme gives %v, want %v", err, zk.ErrAuthFailed)
	}
}

// TestChroot: all nodes are below it, and its locks have nothing to do with those outside.
func TestChroot(t *testing.T) {
	servers := zktest.Start(t, 1).Endpoints()
	ctx := bounded(t)
	inside, outside := backend(t, long, []string{servers[0] + "/app"}), backend(t, long, servers)
	one, other := take(ctx, t, inside), take(ctx, t, outside)
	children, _, err := zktest.Connect(t, servers, long).Children("/app" + zklock.Path(scope))
	if err != nil || len(children) != 1 {
		t.Errorf("below the chroot are %q, %v, want one node", children, err)
	}
	if tenure, err := outside.TryLock(ctx, "/app"+scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("got %v, %v, want that the path is locked", tenure, err)
	}
	unlock(ctx, t, one)
	unlock(ctx, t, other)
}

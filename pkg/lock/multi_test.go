package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func scopesOf(grants []lock.Grant) (scopes []string) {
	for _, g := range grants {
		scopes = append(scopes, g.Scope)
	}
	return scopes
}

// free are those of the scopes that nobody holds.
func free(t *testing.T, m *locktest.Memory, scopes ...string) (free []string) {
	c := m.Open()
	for _, scope := range scopes {
		if tenure, err := c.TryLock(t.Context(), scope); err == nil {
			free = append(free, scope)
			_ = tenure.Unlock(t.Context())
		}
	}
	return free
}

func TestMultiLocksInOneOrderAndEachOnce(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		named := []string{"/c", "/a", "/c", "/b", "/a"}
		err := lock.Multi(t.Context(), m.Open(), named, func(_ context.Context, grants []lock.Grant) error {
			if got := scopesOf(grants); !slices.Equal(got, []string{"/a", "/b", "/c"}) {
				t.Errorf("the grants are of %q", got)
			}
			if !slices.IsSortedFunc(grants, func(a, b lock.Grant) int { return int(a.Token - b.Token) }) {
				t.Errorf("%+v were not granted in the order of their names", grants)
			}
			if got := free(t, m, "/a", "/b", "/c"); got != nil {
				t.Errorf("during Multi, %q are free", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if named[0] != "/c" {
			t.Error("the caller's slice was sorted")
		}
		if got := free(t, m, "/a", "/b", "/c"); len(got) != 3 {
			t.Errorf("after Multi, only %q are free", got)
		}
	})
}

func TestMultiLocksAllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		if _, err := m.Open().Lock(t.Context(), "/b"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := lock.Multi(ctx, m.Open(), []string{"/a", "/b", "/c"}, func(context.Context, []lock.Grant) error {
			t.Error("f ran")
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Multi returned %v, want the deadline's error", err)
		}
		if got := free(t, m, "/a", "/b", "/c"); !slices.Equal(got, []string{"/a", "/c"}) {
			t.Errorf("afterwards %q are free, want what Multi has tried to lock", got)
		}
	})
}

func TestMultiWantsAScope(t *testing.T) {
	err := lock.Multi(t.Context(), nil, nil, func(context.Context, []lock.Grant) error {
		t.Error("f ran")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no scope") {
		t.Errorf("Multi returned %v", err)
	}
}

// losing is a backend by which "/a" is lost right before "/b" is granted.
type losing struct {
	lock.Backend
	m     *locktest.Memory
	first lock.Grant
}

func (b *losing) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	if scope == "/b" {
		b.m.Revoke(b.first)
		synctest.Wait() // until it is known
	}
	t, err := b.Backend.Lock(context.WithoutCancel(ctx), scope)
	if err == nil && scope == "/a" {
		b.first = t.Grant()
	}
	return t, err
}

func TestMultiDoesNotRunWhereALockIsLostMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := &losing{Backend: m.Open(), m: m}
		err := lock.Multi(t.Context(), b, []string{"/a", "/b"}, func(context.Context, []lock.Grant) error {
			t.Error("f ran")
			return nil
		})
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("Multi returned %v, want ErrLost", err)
		}
		if got := free(t, m, "/a", "/b"); len(got) != 2 {
			t.Errorf("after Multi, only %q are free", got)
		}
	})
}

func TestMultiReportsALoss(t *testing.T) {
	for i := range 2 {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			err := lock.Multi(t.Context(), m.Open(), []string{"/a", "/b"}, func(ctx context.Context, grants []lock.Grant) error {
				m.Revoke(grants[i])
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) {
					t.Errorf("the cause is %v, want ErrLost", cause)
				}
				return nil
			})
			if !errors.Is(err, lock.ErrLost) {
				t.Errorf("Multi returned %v, want ErrLost", err)
			}
		})
	}
}

func TestSharedLocksAreHeldTogether(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		reader := lock.Shared(m.Open().Backend.(lock.Sharer))
		err := lock.Do(t.Context(), reader, scope, func(_ context.Context, one lock.Grant) error {
			if got := one.Claim(); got != (fence.Claim{Scope: scope, Token: one.Token, Mode: fence.Shared}) {
				t.Errorf("the claim of %+v is %+v", one, got)
			}
			wantHeld(t, m)
			two, err := reader.TryLock(t.Context(), scope)
			if err != nil {
				return err
			}
			return two.Unlock(t.Context())
		})
		if err != nil {
			t.Error(err)
		}
		wantFree(t, m)
	})
}

package lockfile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/lockfile"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func TestStories(t *testing.T) {
	t.Parallel()
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services})
}

// dial makes a client in a directory, with some settings.
func dial(t *testing.T, dir string, chosen setting.Values) service.Client {
	t.Helper()
	settings, err := setting.Complete(slices.Concat(setting.Client, services[0].Client), chosen)
	if err != nil {
		t.Fatal(err)
	}
	c, err := services[0].Dial(service.Options{Endpoints: []string{dir}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClientObeysTheLaws of locks, by each recipe.
func TestClientObeysTheLaws(t *testing.T) {
	t.Parallel()
	for _, r := range lockfile.TableRecipes() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			locktest.Run(t, locktest.Subject{
				Open: func(context.Context) (locktest.Client, error) {
					c := dial(t, dir, setting.Values{service.By: r.Name})
					return locktest.Client{Backend: service.Backend(c), Close: func() { _ = c.Close(t.Context()) }}, nil
				},
				TTL: time.Second, Slack: service.Slack,
			})
		})
	}
}

// TestNoTokenWithoutTheLock: a client that was stopped before it had its token, and whose file is
// gone when it goes on, has neither the lock nor a token.
func TestNoTokenWithoutTheLock(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	first := dial(t, dir, setting.Values{setting.TTL: "1s"})
	next := dial(t, dir, nil)
	halfway := service.Halfway(ctx, func(string) {
		remove(t, lockfile.FileOf(dir, "/lock", ".lock"))
		if held, err := next.TryLock(ctx, "/lock", ""); err != nil || held.Grant().Token != 1 {
			t.Errorf("the next client: %v", err)
		}
	})
	if _, err := first.TryLock(halfway, "/lock", ""); err != service.ErrRanOut {
		t.Errorf("the first client: got error %v, want %v", err, service.ErrRanOut)
	}
}

// TestNoDirectoryOfAnother: a run joins no directory that is there already.
func TestNoDirectoryOfAnother(t *testing.T) {
	const dir, want = "/tmp/locks", "a directory of its own"
	if _, _, err := services[0].At(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("--lockfile: %v, want %s", err, want)
	}
	if err := services[0].Reach(t.Context(), []string{dir}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("--endpoints: %v, want %s", err, want)
	}
}

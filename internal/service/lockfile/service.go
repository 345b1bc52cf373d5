// Package lockfile is the lock service of lock files: a directory that clients share, with a file for
// each lock that is held, and an account of tenures by what the kernel tells of the directory.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const Name = "lockfile"

const (
	settingLinger = "linger"

	tokenCounter = "counter"

	lookFile = "file"
)

type recipe struct {
	name, about string
	guarded     bool // files are removed under a lock of the kernel
}

func (r *recipe) Says() (name, about string) { return r.name, r.about }

var recipes = []*recipe{&exclusive, &naive}

var (
	exclusive = recipe{"exclusive", "The file is created with O_EXCL, and names the holder, who writes to it every third of the TTL. A waiter that finds it untouched for the TTL looks again under a lock of the kernel (flock), removes it, and creates its own. To release the lock its holder does likewise, and first gives the file a name of its own.", true}
	naive     = recipe{"naive", "The same, but a waiter that has found the file untouched for the TTL removes what has its name then, without another look.", false}
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &exclusive),
	{Name: settingLinger, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "How long it waits between the look that finds a file untouched for the TTL and the removal of the file."},
	{Name: setting.Token, Default: tokenCounter, Of: []string{tokenCounter, setting.TokenNone},
		About: "Its token for the storage. counter: a number in a file beside the lock's, which each holder makes one higher and syncs before it goes on. none: no token."},
	setting.LookOf("session: at its own clock, whether the TTL since it wrote to the file is over. file: it looks whether the file is still its own.", lookFile),
}

// Service is lock files. Nothing serves a directory, and so nothing is done to it.
func Service() *service.Service {
	s := &service.Service{
		Service: scenario.Service{Name: Name, About: "The lock service.", Client: clientSettings, Halfway: true, Local: true},
		Start:   start, Dial: dial,
		Shows: func(client setting.Values) string {
			return map[string]string{tokenCounter: history.ShowsLater, setting.TokenNone: history.ShowsNone}[client.Text(setting.Token)]
		},
		Bounds: bounds, Model: inModel,
	}
	return s.Embed("each run has a directory of its own")
}

// bounds: the file of a client is stale after the TTL, and who waits lingers before it takes over.
func bounds(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
	list, handover := service.BoundsBy(0)(world, clients)
	var longest time.Duration
	for _, c := range clients {
		longest = max(longest, c.Time(settingLinger))
	}
	return list, handover + longest
}

func dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want the path of one directory", o.Endpoints)
	}
	c := &client{dir: o.Endpoints[0], settings: o.Settings, recipe: service.RecipeOf(recipes, o.Settings)}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

func start(_ context.Context, stage service.Stage) (service.Servers, error) {
	dir := filepath.Join(stage.Group().Dir, "locks")
	return &servers{dir, stage}, os.Mkdir(dir, 0o700)
}

// servers are the directory of a run.
type servers struct {
	dir   string
	stage service.Stage
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.dir}, nil
}

func (s *servers) Observe(ctx context.Context) error {
	told, err := watch(s.dir)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = told.Close() })
	a := newAccount(s.stage, s.dir)
	s.stage.Go(func() {
		defer a.close()
		if err := a.follow(told); !errors.Is(err, fs.ErrClosed) {
			s.stage.Fail(nil, fmt.Errorf("the observer of %s: %w", Name, err))
		}
	})
	return nil
}

func (s *servers) Leave(context.Context) {}

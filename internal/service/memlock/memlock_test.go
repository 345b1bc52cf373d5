package memlock_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// services are those of the program, and the one of these tests.
var services = append(labtest.Services(slices.Clone(all.List)), Service())

// The test binary is its own server, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 8) }

func parse(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	return services.Parse(t, filepath.Join("testdata", name+".yaml"))[0]
}

// run makes a run, and holds it to what the scenario expects and to what a history is.
func run(t *testing.T, s *scenario.Scenario, v *scenario.Variant, o lab.Options) []history.Event {
	t.Helper()
	if o.Services == nil {
		o.Services = services
	}
	return labtest.Run(t, s, v, o)
}

func TestStories(t *testing.T) {
	for _, name := range []string{"tokens", "forget", "grace", "halfway"} {
		s := parse(t, name)
		for i := range s.Variants {
			v := &s.Variants[i]
			t.Run(name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				events := run(t, s, v, lab.Options{})
				switch {
				case name == "grace" && len(events) > 0:
					rests(t, events)
				case name == "halfway":
					grants(t, events, "client1")
				}
			})
		}
	}
}

// grants: the history knows whose the first tenure was, though its client may never have
// been told of it.
func grants(t *testing.T, events []history.Event, client string) {
	t.Helper()
	i := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == history.KindGranted })
	if i < 0 || events[i].Client != client {
		t.Errorf("the first tenure is not that of %s", client)
	}
}

// rests: the lock is granted again when the grace is over.
func rests(t *testing.T, events []history.Event) {
	t.Helper()
	of := func(kind history.Kind, client string) time.Duration {
		i := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == kind && e.Client == client })
		if i < 0 {
			t.Fatalf("nobody says of %s: %s", client, kind)
		}
		return events[i].At
	}
	if rest := of(history.KindGranted, "client2") - of(history.KindEnded, "client1"); rest < time.Second {
		t.Errorf("the lock was granted %v after the lease of its holder ran out, want 1s or more", rest)
	}
}

// counting counts the servers that are launched.
func counting(launched *atomic.Int32) *service.Service {
	s := Service()
	launch := s.Launch
	s.Launch = func(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
		launched.Add(1)
		return launch(ctx, g, world)
	}
	return s
}

// TestRunsShareAServer: one server is launched for all runs that need none of their own,
// and none sees the locks of another.
func TestRunsShareAServer(t *testing.T) {
	var launched atomic.Int32
	shared := &lab.Shared{Exe: os.Args[0]}
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
		if n := launched.Load(); n != 1 {
			t.Errorf("%d servers were launched, want 1", n)
		}
	})
	o := lab.Options{Services: []*service.Service{counting(&launched)}, Shared: shared}
	for _, name := range []string{"tokens", "forget"} {
		s := parse(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, e := range run(t, s, &s.Variants[0], o) {
				if e.Scope != "" && !strings.HasPrefix(e.Scope, "/gcsim-") {
					t.Errorf("%+v: its lock has no prefix of the run", e)
				}
			}
		})
	}
}

// TestLanes: each process speaks in the lane of its role, the servers in that of their
// service; where people look they are the run's own.
func TestLanes(t *testing.T) {
	shared := labtest.Share(t)
	s := parse(t, "tokens")
	lanes := make(map[string]*bytes.Buffer)
	for _, name := range append([]string{"memlock", history.LaneStorage}, s.Clients...) {
		lanes[name] = new(bytes.Buffer)
	}
	var mu sync.Mutex
	run(t, s, &s.Variants[0], lab.Options{Shared: shared, Lane: func(name string) io.Writer {
		return writer(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return lanes[name].Write(b)
		})
	}})
	for name, lane := range lanes {
		want := name + " is process "
		if slices.Contains(s.Clients, name) && !strings.Contains(lane.String(), "\nready\n") || !strings.HasPrefix(lane.String(), want) {
			t.Errorf("the lane of %s shows\n%s", name, lane)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// trial is 16 clients and storages that are harmed while they serve.
type trial struct {
	*testing.T
	ctx   context.Context
	rand  *rand.Rand
	load  *workload
	sites []*site
	seed  uint64
}

// clientTimeout is after what time a client gives up: short, so that there are
// many unknown outcomes.
const clientTimeout = 200 * time.Millisecond

// faultsIn is how many faults a history has. The search for an order of a history with
// three times as many, of which thousands of requests have an unknown outcome, sometimes
// does not end in time.
func faultsIn() int {
	if need.Long() {
		return 50
	}
	return 12
}

// trials does several trials in the long form, each with a history of its own.
func trials(t *testing.T, do func(*testing.T)) {
	n := 1
	if need.Long() {
		n = 3
	}
	for i := range n {
		t.Run(strconv.Itoa(i+1), do)
	}
}

// newTrial starts the storages, and clients that use them all.
func newTrial(t *testing.T, sites ...*site) *trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &trial{T: t, ctx: ctx, sites: sites, seed: rand.Uint64()}
	t.Logf("seed %d", r.seed)
	r.rand = rand.New(rand.NewPCG(r.seed, 0))
	var urls []string
	for _, s := range sites {
		urls = append(urls, s.url, "http://"+s.addr) // with its network, and without
	}
	r.load = startWorkload(workloadConfig{URLs: urls, Clients: 16, Seed: r.seed, Timeout: clientTimeout})
	t.Cleanup(r.load.Quit)
	return r
}

// await waits for attempts of the clients.
func (r *trial) await(n int) {
	r.Helper()
	if err := r.load.Await(r.ctx, n); err != nil {
		r.Fatal(err)
	}
}

// fault is one way to do harm to a site; it is over when do returns.
type fault struct {
	name string
	do   func(r *trial, s *site)
}

// harm does n of the faults, in a random order, to random sites, with time to
// recover in between. Each is done at least once.
func (r *trial) harm(n int, faults ...fault) {
	r.Helper()
	var order []fault
	for len(order) < n {
		order = append(order, faults...)
	}
	r.rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, f := range order {
		s := r.sites[r.rand.IntN(len(r.sites))]
		r.await(50 + r.rand.IntN(100))
		_ = r.load.Fault(f.name+" "+s.addr, func() error { f.do(r, s); return nil })
	}
	r.await(100)
}

// want ends the clients and judges their history. One that is not judged as
// wanted is kept, with a picture.
func (r *trial) want(want linear.Verdict) {
	r.Helper()
	ops, faults := r.load.Stop(r.ctx)
	met := map[linear.Outcome]int{}
	for _, op := range ops {
		met[op.Output.Outcome]++
	}
	began := time.Now()
	got := linear.Check(ops, patience)
	r.Logf("%d operations %v, %d faults; %s after %v", len(ops), met, len(faults), got, time.Since(began).Round(time.Millisecond))
	if met[linear.Done] == 0 || met[linear.Stale] == 0 {
		r.Errorf("nothing done, or nothing refused: %v", met)
	}
	if got == want {
		return
	}
	r.Errorf("seed %d: %s, want %s; the history and its picture: %s", r.seed, got, want, r.keep(ops, faults))
}

// keep writes a history and its picture to a directory that stays.
func (r *trial) keep(ops []linear.Op, faults []linear.Fault) string {
	r.Helper()
	dir, err := os.MkdirTemp("", "fencelab-history-")
	if err != nil {
		r.Fatal(err)
	}
	history, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		r.Fatal(err)
	}
	defer history.Close()
	page, err := os.Create(filepath.Join(dir, "history.html"))
	if err != nil {
		r.Fatal(err)
	}
	defer page.Close()
	enc := json.NewEncoder(history)
	for _, op := range ops {
		if err := enc.Encode(op); err != nil {
			r.Error(err)
		}
	}
	if err := linear.Draw(page, ops, faults, 20*time.Second); err != nil {
		r.Error(err)
	}
	return dir
}

// TestLinearizableBolt: whatever is done to the durable storage and to the
// connections to it, its clients see one storage that obeys the laws.
func TestLinearizableBolt(t *testing.T) {
	t.Parallel()
	trials(t, func(t *testing.T) {
		w := newWorld(t)
		s := newSite(w, "--engine", "bolt", "--data", t.TempDir())
		r := newTrial(t, s)
		r.harm(faultsIn(), slices.Concat(crashes, pauses, links)...)
		r.want(linear.Linearizable)
	})
}

// TestLinearizableMemory: as long as its process lives, nothing that happens to
// it or to connections makes the memory engine break the laws.
func TestLinearizableMemory(t *testing.T) {
	t.Parallel()
	trials(t, func(t *testing.T) {
		w := newWorld(t)
		r := newTrial(t, newSite(w))
		r.harm(faultsIn(), slices.Concat(pauses, links)...)
		r.want(linear.Linearizable)
	})
}

// TestNotLinearizable: the controls. A storage that forgets, and one that does
// not check, must be found.
func TestNotLinearizable(t *testing.T) {
	t.Parallel()
	t.Run("memory forgets when killed", func(t *testing.T) {
		r := newTrial(t, newSite(newWorld(t)))
		r.harm(2, crashes...)
		r.want(linear.NotLinearizable)
	})
	t.Run("fencing off", func(t *testing.T) {
		r := newTrial(t, newSite(newWorld(t), "--fencing", "off"))
		r.await(500)
		ops, _ := r.load.Stop(r.ctx)
		if got := linear.Check(ops, patience); got != linear.NotLinearizable {
			t.Errorf("seed %d: %s", r.seed, got)
		}
	})
	t.Run("the picture", func(t *testing.T) {
		r := newTrial(t, newSite(newWorld(t), "--fencing", "off"))
		r.await(200)
		ops, faults := r.load.Stop(r.ctx)
		dir := r.keep(ops, faults)
		defer os.RemoveAll(dir)
		for name, want := range map[string]string{"history.jsonl": `"scope":"/lock`, "history.html": "<html"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s has %d bytes and not %q: %v", name, len(b), want, err)
			}
		}
	})
}

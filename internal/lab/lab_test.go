package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

// The test binary is its own etcd, storage, clients and janitor.
func TestMain(m *testing.M) {
	proctest.Play(append(lab.Roles(all.List), oddStorage())...)
	proctest.SideBySide(8)
	os.Exit(leavingNothing(m.Run))
}

// leavingNothing is 1 where what is run leaves a temporary file.
func leavingNothing(run func() int) int {
	dir, err := os.MkdirTemp("", "lab-test-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	code := run()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "files are left: %v (%v)\n", left, err)
		return 1
	}
	return code
}

func mainStory(t *testing.T) *scenario.Scenario {
	t.Helper()
	data, err := fs.ReadFile(scenarios.FS, "etcd/01-gc-pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

// TestMainStory holds the whole history to what must be in it, in order; only
// the moment at which client1 is told of its loss is not given.
func TestMainStory(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	for i, want := range []string{`gcsim run
client1 invoke lock
etcd granted client1
client1 ok lock
client1 note write key0=
client1 pause SIGSTOP
etcd ended expired client1
client2 invoke lock
etcd granted client2
client2 ok lock
client2 invoke write key0=from-client-2
storage applied write key0=from-client-2
client2 ok write key0=from-client-2
client1 resume SIGSTOP
client1 invoke write key0=from-client-1
storage refused write stale key0=from-client-1
client1 fail write stale key0=from-client-1
storage final key0=from-client-2
gcsim end
`, `gcsim run
client1 invoke lock
etcd granted client1
client1 ok lock
client1 note write key0=
client1 pause SIGSTOP
etcd ended expired client1
client2 invoke lock
etcd granted client2
client2 ok lock
client2 invoke write key0=from-client-2
storage applied write key0=from-client-2
client2 ok write key0=from-client-2
client1 resume SIGSTOP
client1 invoke write key0=from-client-1
storage applied write key0=from-client-1
client1 ok write key0=from-client-1
storage final key0=from-client-1
gcsim end
`} {
		v := &s.Variants[i]
		t.Run(v.Name, func(t *testing.T) {
			emitted := 0
			events, err := run(t, t.Context(), s, v, func(step []history.Event) { emitted += len(step) })
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(sketch(events), "client1 lost\n", ""); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			// It does not know when it writes: that is the story.
			if before, _, _ := strings.Cut(sketch(events), "client1 invoke write"); strings.Contains(before, "lost") {
				t.Errorf("client1 was told of its loss before it wrote:\n%s", before)
			}
			if about := events[0].Run; about.Version != history.Version || about.Tokens["client2"] != "revision" {
				t.Errorf("the history is of version %d, and tokens are %v", about.Version, about.Tokens)
			}
			if got := events[0].Run.Leases; got != "etcd; leases: client1 1s, client2 1s" {
				t.Errorf("of leases the history says %q", got)
			}
			if emitted != len(events) {
				t.Errorf("%d events were emitted live, the history has %d", emitted, len(events))
			}
			for i := 1; i < len(events); i++ {
				if events[i].At < events[i-1].At {
					t.Errorf("event %d is at %v, before %v", i, events[i].At, events[i-1].At)
				}
			}
			if v := verdict.Judge(events); !v.OK() {
				t.Errorf("verdict %s: %q", v.Name, v.Mismatches)
			}
		})
	}
}

// story makes a scenario of steps, with one variant.
func story(t *testing.T, steps string) (*scenario.Scenario, *scenario.Variant) {
	t.Helper()
	s := parse(t, `title: t
clients:
  client1: {lock: /lock}
  client2: {lock: /lock}
steps: [{`+strings.ReplaceAll(steps, ", ", "}, {")+`}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`)
	return s, &s.Variants[0]
}

func TestEveryVerb(t *testing.T) {
	t.Parallel()
	s, v := story(t, `client1: trylock, client2: trylock, client1: read k, client1: write k=1, client1: read k, client1: delete k, client1: unlock, `+
		`client2: lock, gcsim: kill client2, etcd: await expiry of client2, client1: lock`)
	events, err := run(t, t.Context(), s, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, sketch(events),
		"client2 fail trylock", "storage applied read k=\n", "storage applied write k=1", "storage applied read k=1",
		"storage applied delete k=\n", "etcd ended released client1", "etcd granted client2", "client2 kill", "etcd ended expired client2")
}

func TestStepErrorSaysWhere(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client2: lock, client1: trylock, etcd: await expiry of client1")
	events, err := run(t, t.Context(), s, v, nil)
	const want = `test.yaml line 5, step "etcd: await expiry of client1": client1 holds no lock that could expire`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	if last := events[len(events)-1]; last.Kind != history.KindError || !strings.Contains(last.Text, want) {
		t.Errorf("the history ends with %+v, want the error", last)
	}
}

// TestStepThatNeverHappens: the error says what was waited for, and who is in
// the way.
func TestStepThatNeverHappens(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client2: lock, gcsim: pause client1, etcd: await expiry of client2")
	_, err := lab.Run(t.Context(), s, v, lab.Options{Services: all.List, Exe: os.Args[0], Patience: 100 * time.Millisecond})
	const want = `test.yaml line 5, step "etcd: await expiry of client2": after 6.1s still waiting for the expiry of client2's lease: client2 runs, and keeps its lease: ` +
		"stop client2 first (pause without a time), or leave this step out"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := run(t, ctx, s, &s.Variants[0], func(step []history.Event) {
		if slices.ContainsFunc(step, func(e history.Event) bool { return e.Kind == history.KindPause }) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	if _, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: all.List, Exe: "/no/such/program"}); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v, want an error that names the program", err)
	}
}

// TestRunSaysWhatTheWorldWas: whether anybody asked for a lock, and who uses another's session.
func TestRunSaysWhatTheWorldWas(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client1: lock, client2: trylock, client2: write k=1")
	v.Clients["client2"].Values[setting.Session] = "client1"
	for steps, unlocked := range map[int]bool{3: false, 0: true} {
		told := *v
		told.Steps = v.Steps[:steps]
		events, err := run(t, t.Context(), s, &told, nil)
		if err != nil {
			t.Fatal(err)
		}
		about := events[0].Run
		if about.Unlocked != unlocked || about.Sessions["client2"] != "client1" || len(about.Sessions) != 1 {
			t.Errorf("%d steps: unlocked %v, sessions %v", steps, about.Unlocked, about.Sessions)
		}
		if problems := history.Check(events); problems != nil {
			t.Error(&history.InvalidError{Problems: problems})
		}
	}
}

// TestSharedTenureEnds: a tenure that a second client is told of, in a session that it shares, stays the first one's to
// its end.
func TestSharedTenureEnds(t *testing.T) {
	t.Parallel()
	events := played(t, `
title: t
world: {etcd: {}}
clients: {client1: {lock: /l}, client2: {lock: /l, session: client1}}
steps:
  - client1: lock
  - client2: lock
  - client1: unlock
variants: {v: {expect: {verdict: safe}}}
`)
	if problems := history.Check(events); problems != nil {
		t.Errorf("the history contradicts itself: %v", problems)
	}
}

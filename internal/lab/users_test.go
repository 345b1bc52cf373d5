package lab_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/scenarios"
)

// oddStorage is a role: a fenced storage that is not the lab's, with something odd.
//
//	right   nothing
//	early   it checks the token before it has the body
//	silent  it writes what is to be at the key "silent", and hangs up
//	deaf    it does not answer
//	other   it answers a write with a status of its own
//	dying   it ends with the first write
func oddStorage() *cobra.Command {
	return &cobra.Command{
		Use: "odd-storage HOW ADDR", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			s := &odd{how: args[0], data: make(map[string]string), marks: make(map[string]uint64)}
			return http.ListenAndServe(args[1], s)
		},
	}
}

type odd struct {
	how   string
	mu    sync.Mutex
	data  map[string]string
	marks map[string]uint64
}

// admit reports whether the token is not stale, and raises the mark.
func (o *odd) admit(r *http.Request) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	scope := r.Header.Get("Fencing-Scope")
	token, _ := strconv.ParseUint(r.Header.Get("Fencing-Token"), 10, 63)
	if token == 0 && r.Method == http.MethodGet {
		return true
	}
	fresh := token >= o.marks[scope]
	o.marks[scope] = max(token, o.marks[scope])
	return fresh
}

func (o *odd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch o.how {
	case "deaf":
		<-r.Context().Done()
		return
	case "other":
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusConflict)
			return
		}
	case "dying":
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		os.Exit(3)
	case "early":
		if !o.admit(r) {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if o.how != "early" && !o.admit(r) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch value, has := o.data[r.URL.Path]; {
	case r.Method == http.MethodPut:
		o.data[r.URL.Path] = string(body)
	case r.Method == http.MethodDelete:
		delete(o.data, r.URL.Path)
	case !has:
		w.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprint(w, value)
	}
	if o.how == "silent" && r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/silent") {
		panic(http.ErrAbortHandler)
	}
}

// usersOwn is a storage that a command runs.
func usersOwn(t *testing.T, args string) *lab.UsersStorage {
	t.Helper()
	need.Program(t, "sh", "to run a storage by a command")
	return &lab.UsersStorage{Command: "'" + os.Args[0] + "' " + args}
}

// runWith runs a variant with a storage that is not the lab's.
func runWith(t *testing.T, s *scenario.Scenario, f *lab.UsersStorage) ([]history.Event, error) {
	t.Helper()
	events, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: all.List, Exe: os.Args[0], UsersStorage: f, Patience: 6 * time.Second})
	return events, err
}

// TestForeignStorage: scenarios come out with a storage that is not the lab's as they do with
// the lab's, and show the hole of one that has a hole.
func TestForeignStorage(t *testing.T) {
	t.Parallel()
	const bolt = "storage --listen {addr} --engine bolt --data {dir}/data"
	for name, tt := range map[string]struct{ scenario, storage, want, fenced string }{
		"a request that waits":         {"04-delayed-request", bolt, history.Safe, judge.Yes},
		"with a storage with a hole":   {"04-delayed-request", "odd-storage early {addr}", history.Corrupted, judge.No},
		"with a mark that is not told": {"04-delayed-request", "odd-storage right {addr}", history.Safe, judge.Yes},
		"a restart":                    {"08-storage-restart", bolt, history.Safe, judge.Yes},
		"marks that a restart loses":   {"08-storage-restart", "storage --listen 127.0.0.1:{port}", history.Corrupted, judge.No},
		"numbered requests":            {"19-late-retry", bolt, history.Safe, judge.Yes},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(scenarios.FS, "etcd/"+tt.scenario+".yaml")
			if err != nil {
				t.Fatal(err)
			}
			events, err := runWith(t, parse(t, string(data)), usersOwn(t, tt.storage))
			if err != nil {
				t.Fatal(err)
			}
			j, err := judge.Judge(events)
			if err != nil || j.Name != tt.want || j.Storage.Fenced != tt.fenced {
				t.Errorf("%s, fenced %s, %v; want %s, %s\n%s", j.Name, j.Storage.Fenced, err, tt.want, tt.fenced, sketch(events))
			}
		})
	}
}

const oneWrite = `
title: t
clients:
  client1: {lock: /lock, timeout: 3s}
steps:
  - client1: lock
  - client1: write key0=1
  - client1: write silent=1
  - client1: read key0
variants:
  only:
    expect: {verdict: safe}
`

// TestForeignStorageAtAURL keeps what others have there.
func TestForeignStorageAtAURL(t *testing.T) {
	t.Parallel()
	o := &odd{how: "right", data: map[string]string{"/v1/kv/key0": "theirs"}, marks: map[string]uint64{"/lock": 1 << 62}}
	server := serveOdd(t, o)
	for range 2 { // the second run finds nothing of the first
		events, err := runWith(t, parse(t, oneWrite), &lab.UsersStorage{URL: server})
		if err != nil {
			t.Fatal(err)
		}
		j, err := judge.Judge(events)
		if err != nil || j.Name != history.Safe || j.Final["key0"] != "1" {
			t.Errorf("%s, %v, at the end %v\n%s", j.Name, err, j.Final, sketch(events))
		}
		wantAll(t, events[0].Run.About, "the storage at "+server)
	}
	if o.data["/v1/kv/key0"] != "theirs" || len(o.data) != 5 || len(o.marks) != 3 {
		t.Errorf("the storage has %v, marks %v", o.data, o.marks)
	}
}

// TestForeignStorageWithoutAnAnswer: the verdict is not safe, though nothing is wrong.
func TestForeignStorageWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	events, err := runWith(t, parse(t, oneWrite), usersOwn(t, "odd-storage silent {addr}"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := judge.Judge(events)
	if err != nil || j.Name != history.Undecided || len(j.Violations) > 0 || len(j.Undecided) != 1 {
		t.Errorf("%s, %+v, %v", j.Name, j.Violations, err)
	}
	wantAll(t, sketch(events), "storage unanswered write silent=1\nclient1 unknown write silent=1\n", "storage final silent=1\n")
}

// TestForeignStorageFails: the error names the storage and what it did.
func TestForeignStorageFails(t *testing.T) {
	t.Parallel()
	for how, want := range map[string][]string{
		"odd-storage deaf {addr}":  {"read key0 at the end", "gave no whole answer within 4s (asked: GET /v1/kv/key0)"},
		"odd-storage dying {addr}": {"ended (exit status 3)", "the disk is on fire"},
		"odd-storage other {addr}": {"answered 409 Conflict, want 200 to 299, or 412 where the token is stale (asked: PUT /v1/kv/key0, Fencing-Scope: /lock, Fencing-Token: "},
		"no-such-role {addr}":      {"unknown command"},
	} {
		t.Run(how, func(t *testing.T) {
			events, err := runWith(t, parse(t, oneWrite), usersOwn(t, how))
			if err == nil {
				t.Fatalf("it ran:\n%s", sketch(events))
			}
			wantAll(t, err.Error(), want...)
			wantAll(t, err.Error(), os.Args[0])
			if len(events) > 0 && events[len(events)-1].Kind != history.KindError {
				t.Errorf("the history ends with %v", events[len(events)-1])
			}
		})
	}
}

// TestStorageInTheScenario: a command in the scenario runs it, and is stopped, killed and
// started again as the story says.
func TestStorageInTheScenario(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh", "to run a storage by a command")
	s := parse(t, fmt.Sprintf(`
title: t
world:
  storage: {command: '''%s'' storage --listen {addr} --engine bolt --data {dir}/data'}
clients:
  client1: {lock: /lock, timeout: 3s}
steps:
  - client1: lock
  - client1: write key0=1
  - gcsim: pause storage
  - client1: write key0=2    # it gets no answer
  - gcsim: resume storage
  - client1: read key0
  - gcsim: kill storage
  - gcsim: restart storage
  - client1: write key0=3
variants:
  only:
    expect: {verdict: safe, fenced: true, final: {key0: 3}}
`, os.Args[0]))
	events, err := runWith(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := judge.Judge(events); err != nil || !j.OK() {
		t.Errorf("%q, %v", j.Mismatches, err)
	}
	wantAll(t, sketch(events), "storage pause SIGSTOP\n", "storage resume SIGSTOP\n", "storage kill\n", "storage restart\n", "storage applied write key0=3\n")
}

func serveOdd(t *testing.T, o *odd) string {
	t.Helper()
	s := httptest.NewServer(o)
	t.Cleanup(s.Close)
	return s.URL
}

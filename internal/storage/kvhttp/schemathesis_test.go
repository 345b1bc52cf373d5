package kvhttp_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// settings are those of the tester: how it reads what /openapi.yaml says in words.
const settings = "testdata/schemathesis"

// generated is how the tester says how many requests it has made.
var generated = regexp.MustCompile(`(\d+) generated, (\d+) `)

// tester runs schemathesis, which makes requests from /openapi.yaml, valid and invalid ones,
// and compares the answers with it. The seed makes them the same each time.
func tester(t *testing.T, h http.Handler, args ...string) (out string, cases int, err error) {
	t.Helper()
	program := need.Schemathesis(t, settings+"/requirements.txt", "to test the storage by its own description")
	dir := t.TempDir() // it writes where it runs
	if err := os.CopyFS(dir, os.DirFS(settings)); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	cmd := exec.Command(program, append([]string{"--no-color", "run", srv.URL + "/openapi.yaml", "--seed=1", "--phases=examples,coverage,fuzzing"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	b, err := cmd.CombinedOutput()
	out = string(b)
	if m := generated.FindStringSubmatch(out); m != nil {
		cases, _ = strconv.Atoi(m[1])
	}
	return out, cases, err
}

// statuses counts the answers of a handler, by method and status.
type statuses struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]int
}

func (s *statuses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	told := &recorded{ResponseWriter: w, status: http.StatusOK}
	s.Handler.ServeHTTP(told, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[r.Method+" "+strconv.Itoa(told.status)]++
}

// recorded keeps the status that an answer has.
type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// TestSchemathesisFindsNothing: a stranger's tester, which knows of the storage what
// /openapi.yaml says, finds no answer that the document does not have, takes no valid request
// for refused, and gets no invalid one done. A raised floor would refuse all that comes after
// it, so it is tested for itself.
func TestSchemathesisFindsNothing(t *testing.T) {
	for _, run := range []struct {
		arg      string
		cases    int // at least
		answered []string
	}{
		{"--exclude-operation-id=raiseFloor", 500, []string{"PUT 204", "PUT 400", "PUT 412", "PUT 428", "GET 200", "GET 404", "HEAD 412", "DELETE 204", "POST 200", "POST 204", "POST 428"}},
		{"--include-operation-id=raiseFloor", 20, []string{"PUT 200", "PUT 400"}},
	} {
		h := &statuses{Handler: kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Metrics: kvhttp.NewMetrics()}), seen: make(map[string]int)}
		out, cases, err := tester(t, h, run.arg, "--max-examples=4")
		if err != nil {
			t.Fatalf("%s: %v\n%s", run.arg, err, out)
		}
		if cases < run.cases {
			t.Errorf("%s: %d requests, want %d or more\n%s", run.arg, cases, run.cases, out)
		}
		for _, want := range run.answered {
			if h.seen[want] == 0 {
				t.Errorf("%s: no answer was %s, only %v", run.arg, want, maps.Collect(maps.All(h.seen)))
			}
		}
	}
}

// TestSchemathesisFinds: what is wrong is found, each by a check of its own.
func TestSchemathesisFinds(t *testing.T) {
	honest := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})
	wrong := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/marks/"):
			w.WriteHeader(http.StatusTeapot)
		case r.URL.Path == "/v1/floor":
			w.WriteHeader(http.StatusInternalServerError)
		case strings.HasPrefix(r.URL.Path, "/v1/kv/") && r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Fencing-Token", "034") // no token
		case strings.HasPrefix(r.URL.Path, "/v1/kv/") && r.Method == http.MethodDelete:
			w.Header().Set("Fencing-Token", "34")
			w.Header().Set("Fencing-Mark", "33")
			http.Error(w, "", http.StatusPreconditionFailed) // for no reason
		default:
			honest.ServeHTTP(w, r)
		}
	})
	out, _, err := tester(t, wrong, "--max-examples=1", "--phases=examples", "--include-method=GET", "--include-method=DELETE")
	if err == nil {
		t.Errorf("it found nothing\n%s", out)
	}
	for _, want := range []string{"ST103 Undocumented status code", "ST101 Server error", "ST108 Response header does not conform", "[412] Precondition Failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("it did not say %q\n%s", want, out)
		}
	}
}

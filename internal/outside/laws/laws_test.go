package laws_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// storageArg is the role of a storage that a command runs: HOLE ADDR DIR.
const storageArg = "tiny-storage"

func TestMain(m *testing.M) {
	proctest.Play(proc.Janitor(), &cobra.Command{
		Use: storageArg, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			storage, err := storageOf(args[0], args[2])
			if err != nil {
				return err
			}
			return http.ListenAndServe(args[1], storage)
		},
	})
	proctest.SideBySide(8)
	m.Run()
}

// inFiles are our storages that a command can run, by their names.
var inFiles = map[string]func(http.Handler) http.Handler{
	"ours": func(h http.Handler) http.Handler { return h },
	"ours, without connections that are kept": header("Connection", "close"),
}

// storageOf is a storage on the files in dir: one of ours, or a tiny one with a hole.
func storageOf(name, dir string) (http.Handler, error) {
	if style := inFiles[name]; style != nil {
		bolt, err := kv.OpenBolt(dir, kv.Options{})
		if err != nil {
			return nil, err
		}
		return style(kvhttp.NewHandler(bolt, kvhttp.Options{})), nil
	}
	s := newTiny(holeOf(name))
	return s, s.load(dir)
}

// command runs a storage of storageOf.
func command(t *testing.T, name string) string {
	t.Helper()
	need.Program(t, "sh", "to run a storage by a command")
	return fmt.Sprintf("'%s' %s '%s' {addr} {dir}", os.Args[0], storageArg, name)
}

// hole is what is wrong with a storage, and the laws that have to find it.
type hole struct {
	name    string
	change  func(*tiny)
	found   []string
	command bool // it shows at a restart
}

func first(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

var holes = []hole{
	{name: "tokens are compared as text", found: []string{"TokensCompareAsNumbers"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return mark != 0 && fmt.Sprint(token) < fmt.Sprint(mark) }
	}},
	{name: "tokens are doubles", found: []string{"LargestTokenAdmitted"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return float64(token) < float64(mark) }
	}},
	{name: "tokens have 32 bits", found: []string{"TokensCompareAsNumbers"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return uint32(token) < uint32(mark) }
	}},
	{name: "a token has to be higher", found: []string{"EqualTokenAdmitted"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return token <= mark }
	}},
	{name: "a token has to be the same", found: []string{"NewerTokenReplaces", "StaleWriteRefused"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return mark != 0 && token != mark }
	}},
	{name: "nothing is checked", found: []string{"StaleWriteRefused", "StaleDeleteRefused", "StaleReadRefused"}, change: func(s *tiny) {
		s.stale = func(token, mark uint64) bool { return false }
	}},
	{name: "a mark for each key", found: []string{"ScopeGuardsAllItsKeys"}, change: func(s *tiny) {
		s.scope = func(_, key string) string { return key }
	}},
	{name: "one mark for all", found: []string{"ScopesAreIndependent", "ScopesAreNotConfused"}, change: func(s *tiny) {
		s.scope = func(string, string) string { return "" }
	}},
	{name: "scopes are folded in case", found: []string{"ScopesAreNotConfused"}, change: func(s *tiny) {
		s.scope = func(scope, _ string) string { return strings.ToLower(scope) }
	}},
	{name: "scopes are decoded", found: []string{"ScopesAreNotConfused"}, change: func(s *tiny) {
		s.scope = func(scope, _ string) string {
			if plain, err := url.PathUnescape(scope); err == nil {
				return plain
			}
			return scope
		}
	}},
	{name: "scopes lose their first slash", found: []string{"ScopesAreNotConfused"}, change: func(s *tiny) {
		s.scope = func(scope, _ string) string { return strings.TrimPrefix(scope, "/") }
	}},
	{name: "scopes are cut", found: []string{"ScopesAreNotConfused"}, change: func(s *tiny) {
		s.scope = func(scope, _ string) string { return scope[:min(len(scope), 255)] }
	}},
	{name: "no scope is a scope of its own", found: []string{"NoScopeIsNoWayIn"}, change: func(s *tiny) { s.noScope = "default" }},
	{name: "the mark is lost on delete", found: []string{"DeleteKeepsMark"}, change: func(s *tiny) {
		s.keep = func(token, _ uint64, method string, _ bool) uint64 {
			if method == http.MethodDelete {
				return 0
			}
			return token
		}
	}},
	{name: "a delete does not raise the mark", found: []string{"DeleteRaisesMark"}, change: func(s *tiny) {
		s.keep = func(token, mark uint64, method string, _ bool) uint64 {
			if method == http.MethodDelete {
				return mark
			}
			return token
		}
	}},
	{name: "a read does not raise the mark", found: []string{"ReadRaisesMark"}, change: func(s *tiny) {
		s.keep = func(token, mark uint64, method string, _ bool) uint64 {
			if method == http.MethodGet {
				return mark
			}
			return token
		}
	}},
	{name: "only the first write raises the mark", found: []string{"StaleWriteRefused"}, change: func(s *tiny) {
		s.keep = func(token, mark uint64, _ string, _ bool) uint64 {
			if mark != 0 {
				return mark
			}
			return token
		}
	}},
	{name: "a missing token is admitted", found: []string{"MissingTokenRefused"}, change: func(s *tiny) {
		s.unchecked = func(*http.Request) bool { return true }
	}},
	{name: "a delete needs no token", found: []string{"MissingTokenRefused"}, change: func(s *tiny) {
		s.unchecked = func(r *http.Request) bool { return r.Method != http.MethodPut }
	}},
	{name: "a token is read up to the first letter", found: []string{"OnlyNumbersAreTokens"}, change: func(s *tiny) {
		s.token = func(text string) (uint64, bool) {
			digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
			return first(digits), digits != "" && first(digits) != 0
		}
	}},
	{name: "a negative token is admitted", found: []string{"InvalidTokenRefused", "OnlyNumbersAreTokens"}, change: func(s *tiny) {
		right := s.token
		s.token = func(text string) (uint64, bool) { return right(strings.TrimPrefix(text, "-")) }
	}},
	{name: "a huge token wraps", found: []string{"OnlyNumbersAreTokens"}, change: func(s *tiny) {
		s.token = func(text string) (uint64, bool) {
			var n uint64
			for _, c := range text {
				if c < '0' || c > '9' {
					return 0, false
				}
				n = n*10 + uint64(c-'0')
			}
			return n, n != 0
		}
	}},
	{name: "a leading zero makes a token octal", found: []string{"OnlyNumbersAreTokens"}, change: func(s *tiny) {
		s.token = func(text string) (uint64, bool) {
			n, err := strconv.ParseInt(text, 0, 64)
			return uint64(n), err == nil && n > 0
		}
	}},
	{name: "a plus is no sign, and a stale token with one gets in", found: []string{"SpellingIsNoWayIn"}, change: func(s *tiny) {
		right := s.token
		s.token = func(text string) (uint64, bool) {
			if strings.HasPrefix(text, "+") {
				return 1 << 62, true
			}
			return right(text)
		}
	}},
	{name: "refused with 200", found: []string{"StaleWriteRefused"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, _ *tiny, _, _ string, _ uint64) { fmt.Fprint(w, "refused") }
	}},
	{name: "refused with 409", found: []string{"StaleWriteRefused"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, _ *tiny, _, _ string, _ uint64) { w.WriteHeader(http.StatusConflict) }
	}},
	{name: "refused with 500", found: []string{"StaleWriteRefused"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, _ *tiny, _, _ string, _ uint64) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}},
	{name: "refused and written", found: []string{"StaleWriteRefused", "RefusalChangesNothing"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, s *tiny, key, value string, _ uint64) {
			s.state.Data[key] = value
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}},
	{name: "a refused request raises the mark", found: []string{"RefusalKeepsMark"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, s *tiny, _, _ string, _ uint64) {
			for scope := range s.state.Marks {
				s.state.Marks[scope]++
			}
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}},
	{name: "a refused request lowers the mark", found: []string{"RefusalKeepsMark"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, s *tiny, _, _ string, token uint64) {
			for scope := range s.state.Marks {
				s.state.Marks[scope] = token
			}
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}},
	{name: "check and operation are two steps", found: []string{"CheckAndWriteAreOneStep"}, change: func(s *tiny) {
		s.split = func() bool { return true }
	}},
	{name: "the check comes before the body", found: []string{"LateBodyIsNoWayIn"}, change: func(s *tiny) { s.early = func(*http.Request) bool { return true } }},
	{name: "the check comes before a large body", found: []string{"LateBodyIsNoWayIn"}, change: func(s *tiny) {
		s.early = func(r *http.Request) bool { return r.ContentLength >= 32<<10 }
	}},
	{name: "the check comes before a chunked body", found: []string{"LateBodyIsNoWayIn"}, change: func(s *tiny) {
		s.early = isChunked
	}},
	{name: "it ends at a bad token", command: true, change: endAtBadToken},
	{name: "marks are forgotten at a restart", found: []string{"RestartKeepsMark"}, command: true, change: func(s *tiny) { s.volatile = true }},
}

func holeOf(name string) func(*tiny) {
	for _, h := range slices.Concat(holes, holesOfHTTP) {
		if h.name == name {
			return h.change
		}
	}
	return nil
}

// report judges a handler, or a command.
func report(t *testing.T, o laws.Options) laws.Report {
	t.Helper()
	o.Exe, o.Timeout = os.Args[0], 20*time.Second
	o.Idle, o.Scopes = cmp.Or(o.Idle, time.Second), cmp.Or(o.Scopes, 500)
	r, err := laws.Judge(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func serve(t *testing.T, h http.Handler) []string {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	t.Cleanup(srv.Close)
	return []string{srv.URL}
}

func TestHolesAreFound(t *testing.T) {
	t.Parallel()
	for _, h := range slices.Concat(holes, holesOfHTTP, ways()) {
		if h.found == nil { // no law finds it: see TestCommandThatEnds
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			o := laws.Options{Only: h.found}
			if h.command {
				o.Commands = []string{command(t, h.name)}
			} else {
				o.URLs = serve(t, newTiny(h.change))
			}
			for _, r := range report(t, o).Results {
				if r.Outcome != laws.Fails {
					t.Errorf("%s %s (%s), want it to fail", r.Law, r.Outcome, r.Why)
				}
				if len(r.Requests) == 0 || len(r.Again) == 0 {
					t.Errorf("%s: %d requests, %d lines to see it again", r.Law, len(r.Requests), len(r.Again))
				}
			}
		})
	}
}

// TestOtherWayToTheMark: what changes no data may still lock out the holder.
func TestOtherWayToTheMark(t *testing.T) {
	s := newTiny(nil)
	r := report(t, laws.Options{Only: []string{"OtherWaysAreClosed"}, URLs: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			r.Method = http.MethodGet
			r.Header.Set("Fencing-Token", "36")
		}
		s.ServeHTTP(w, r)
	}))})
	if law := r.Results[0]; law.Outcome != laws.Fails || !strings.Contains(law.Why, "must not raise the mark") {
		t.Errorf("%s %s: %s", law.Law, law.Outcome, law.Why)
	}
}

// kept counts the right storages in which a law holds.
type kept struct {
	mu sync.Mutex
	by map[string]int
}

// judge judges a right storage.
func (k *kept) judge(t *testing.T, o laws.Options) laws.Report {
	t.Helper()
	r := report(t, o)
	if !r.OK() {
		t.Error(r.Summary())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, law := range r.Results {
		switch law.Outcome {
		case laws.LeftOut:
		case laws.Holds:
			k.by[law.Law]++
		default:
			t.Errorf("%s %s: %s", law.Law, law.Outcome, law.Why)
		}
	}
	return r
}

// unasked are laws about what no request by HTTP asks for.
var unasked = []string{
	"AheadInAnyOrder", "AheadRefused", "DoneContextDoesNothing", "EndingContextLeavesNoHalf", "FailureKeepsMark", "SharedAheadRefused",
}

// TestRightStoragesPass: each law holds in right storages of two styles at least.
func TestRightStoragesPass(t *testing.T) {
	t.Parallel()
	k := &kept{by: make(map[string]int)}
	t.Run("all", func(t *testing.T) {
		k.all(t)
		k.ofOtherStyles(t)
		k.inFiles(t)
	})
	t.Run("in two styles", func(t *testing.T) {
		need.Program(t, "sh", "to run storages by commands, which the laws of restarts kill")
		for _, l := range laws.List() {
			if n := k.by[l.Name]; n < 2 && !slices.Contains(unasked, l.Name) {
				t.Errorf("%s holds in %d right storages, want 2 at least", l.Name, n)
			}
		}
	})
}

// all judges the smallest storage, and ours with all that it can do, by all laws. As a command the smallest one writes
// all of its data for each change.
func (k *kept) all(t *testing.T) {
	quick := slices.DeleteFunc(short(), func(name string) bool { return name == "RestartKeepsManyMarks" })
	for _, tt := range []struct {
		name   string
		open   func(t *testing.T) laws.Options
		speaks laws.Speaks
		left   []string // of those that a law is about
	}{
		{
			name:   "the smallest",
			open:   func(t *testing.T) laws.Options { return laws.Options{URLs: serve(t, newTiny(nil))} },
			speaks: laws.Speaks{Protocol: "/v1", Parallel: true},
			left:   []string{"RestartKeepsMark", "SequenceOrders", "SharedClaimsShare", "BatchIsFenced", "HeadIsARead", "RefusalNamesBothTokens"},
		},
		{
			name: "the smallest, as a command",
			open: func(t *testing.T) laws.Options {
				return laws.Options{Commands: []string{command(t, "none")}, Only: quick}
			},
			speaks: laws.Speaks{Protocol: "/v1", Parallel: true, Durable: true, Killed: true},
			left:   []string{"ProcessesShareMarks"},
		},
		{
			name: "ours",
			open: func(t *testing.T) laws.Options {
				url := serve(t, kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))[0]
				return laws.Options{URLs: []string{url, url + "/"}}
			},
			speaks: laws.Speaks{Protocol: "/v1", Sequence: true, Shared: true, Marks: true, Batch: true, Duplicates: true, Parallel: true},
			left: append(slices.Clone(unasked),
				"RestartKeepsAnyOrder", "RestartKeepsBothMarks", "RestartKeepsEveryMark", "RestartKeepsManyMarks", "RestartKeepsMark",
				"RestartKeepsScopesApart"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := k.judge(t, tt.open(t))
			if r.Speaks != tt.speaks {
				t.Errorf("it speaks %+v, want %+v", r.Speaks, tt.speaks)
			}
			var left []string
			for _, law := range r.Results {
				if law.Outcome == laws.LeftOut {
					left = append(left, law.Law)
				}
			}
			for _, name := range tt.left {
				if !slices.Contains(left, name) {
					t.Errorf("%s was judged, want it left out", name)
				}
			}
			if tt.name == "ours" && len(left) != len(tt.left) {
				t.Errorf("left out %q, want %q", left, tt.left)
			}
		})
	}
}

// inFiles judges our storages that a command runs by the laws about restarts.
func (k *kept) inFiles(t *testing.T) {
	var restarts []string
	for _, l := range laws.List() {
		if strings.HasPrefix(l.Name, "Restart") {
			restarts = append(restarts, l.Name)
		}
	}
	for name := range inFiles {
		t.Run(name+", in a file", func(t *testing.T) {
			t.Parallel()
			k.judge(t, laws.Options{Commands: []string{command(t, name)}, Only: restarts})
		})
	}
}

// TestAsk: of a storage that serves one connection at a time, a read waits for the body of a
// write.
func TestAsk(t *testing.T) {
	s := newTiny(nil)
	var turn sync.Mutex
	serial := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		s.ServeHTTP(w, r)
	})
	for _, tt := range []struct {
		handler http.Handler
		want    laws.Speaks
	}{
		{s, laws.Speaks{Protocol: "/v1", Parallel: true}},
		{serial, laws.Speaks{Protocol: "/v1"}},
	} {
		got, err := laws.Ask(t.Context(), laws.Options{URLs: serve(t, tt.handler), Timeout: 10 * time.Second})
		if err != nil || got != tt.want {
			t.Errorf("it speaks %+v, %v, want %+v", got, err, tt.want)
		}
	}
}

// TestCannotBeAsked: the error names the storage once, and what it did.
func TestCannotBeAsked(t *testing.T) {
	for want, handler := range map[string]http.HandlerFunc{
		": it speaks neither /v1 nor contrib/lock's protocol\n/v1: a write with token 34: the storage answered 404": http.NotFound,
		"\n/v1: a write with token 34: it answered 500 Internal Server Error, which leaves open what became of the request (asked: PUT /v1/kv/": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		": it closed the connection without an answer (asked: PUT /v1/kv/": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		urls := serve(t, handler)
		_, err := laws.Ask(t.Context(), laws.Options{URLs: urls, Timeout: 10 * time.Second})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), urls[0]) != 1 {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCommandLeavesItsGroup: a storage that cannot be killed, as its command has left its
// process group, is no storage whose restarts can be judged; and nobody waits for its end.
func TestCommandLeavesItsGroup(t *testing.T) {
	need.Programs(t, "to run a storage that leaves its process group", "sh", "setsid")
	dir := t.TempDir()
	pid, script := filepath.Join(dir, "pid"), filepath.Join(dir, "script")
	away := fmt.Sprintf("setsid sh -c 'echo $$ >>%s; exec \"$@\"' sh '%s' %s none $1 $2 & wait", pid, os.Args[0], storageArg)
	if err := os.WriteFile(script, []byte(away), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := laws.Judge(t.Context(), laws.Options{
		Commands: []string{"sh " + script + " {addr} {dir}"}, Exe: os.Args[0], Timeout: time.Minute, Only: []string{"StaleWriteRefused"},
	})
	text, missing := os.ReadFile(pid)
	if missing != nil {
		t.Fatal(missing)
	}
	for _, one := range strings.Fields(string(text)) {
		id, wrong := strconv.Atoi(one)
		if wrong != nil {
			t.Fatal(wrong)
		}
		_ = syscall.Kill(id, syscall.SIGKILL)
	}
	for _, want := range []string{"was killed, and still takes connections", "a process still runs that has left the process group"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

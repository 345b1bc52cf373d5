package agentcheck_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/lockfile"
	"github.com/fencelab/fencelab/internal/service/redis"
)

// The test's program is all processes, also the clients that are broken.
func TestMain(m *testing.M) {
	proctest.Play(append(lab.Roles(all.List), brokenCommand(), hostileCommand())...)
	proctest.SideBySide(8)
	os.Exit(m.Run())
}

// breakage is what makes of gcsim's own client one that breaks a rule.
type breakage struct {
	check string                   // that finds it; "": the one of its name
	redis bool                     // it is a client of Redis, with a token; else of etcd
	args  func(args []string)      // changes its arguments
	hears func(line string) string // changes what it is told
	says  func(e *history.Event)   // changes what it says
	asks  roundTrip                // takes the place of its way to the storage
	dies  bool                     // at the end of its input it is gone, without a word
	waits bool                     // what its check waits for never comes
	deaf  bool                     // it does not end at SIGTERM
}

// broken has one for each check, and more.
var broken = map[string]breakage{
	"SaysReady": {says: func(e *history.Event) {
		if e.Key == "protocol" {
			e.Value = "2"
		}
	}},
	"UnknownIsAnError": {says: func(e *history.Event) {
		if e.Kind == history.KindError {
			e.Kind = history.KindNote
		}
	}},
	"LinesAreTrimmed":  {hears: func(line string) string { return strings.Replace(line, "lock\r", "lock /other", 1) }},
	"InvokeComesFirst": {says: func(e *history.Event) { e.At += 900 * time.Millisecond }},
	"TenureIsTheServices": {waits: true, says: func(e *history.Event) {
		if e.Tenure != "" {
			e.Tenure += "x"
		}
	}},
	"HeldIsHeld": {says: func(e *history.Event) { e.Reason = strings.TrimSuffix(e.Reason, "held") }},
	"RequestIsSent": {waits: true, says: func(e *history.Event) {
		if e.Request != "" {
			e.Request += "x"
		}
	}},
	"RequestsAreUnique": {args: func(args []string) { args[slices.Index(args, "--asked-before")+1] = "0" }},
	"ValuesAreWhole":    {hears: func(line string) string { return strings.Replace(line, "  ", " ", 1) }},
	"BeginStands":       {hears: func(line string) string { return strings.TrimPrefix(line, "begin ") }},
	"LateWriteIsSent":   {says: func(e *history.Event) { e.Reason = strings.TrimSuffix(e.Reason, "stale") }},
	"LossIsTold": {says: func(e *history.Event) {
		if e.Kind == history.KindLost {
			e.Tenure += "x"
		}
	}},
	"UnlockFrees":            {hears: func(line string) string { return strings.Replace(line, "unlock", "unlock /other", 1) }},
	"WaitEnds":               {hears: func(line string) string { return strings.TrimSuffix(line, " within 300ms") }},
	"TryTakesIfFree":         {hears: func(line string) string { return strings.Replace(line, "trylock", "trylock /other", 1) }},
	"QueueWaits":             {hears: func(line string) string { return strings.TrimSuffix(line, " within 300ms") }},
	"DeleteIsSent":           {hears: func(line string) string { return strings.Replace(line, "delete key2", "write key2=", 1) }},
	"ChangeIsSent":           {hears: func(line string) string { return strings.Replace(line, "key4=2", "key4=1", 1) }},
	"SendIsInBackground":     {waits: true, hears: func(line string) string { return strings.TrimPrefix(line, "send ") }},
	"RetryAsksAgain":         {says: func(e *history.Event) { e.RetryOf = "" }},
	"CountAdds":              {hears: func(line string) string { return strings.Replace(line, "key7 3", "key7 2", 1) }},
	"EndReleases":            {dies: true, waits: true},
	"TermReleases":           {deaf: true, waits: true},
	"LateUnlockFreesNothing": {redis: true, args: func(args []string) { args[slices.Index(args, "--unlock=compare")] = "--unlock=del" }},

	"a write that comes twice":                  {check: "RequestIsSent", asks: func(r *http.Request) (*http.Response, error) { return twice(r, r.Header.Get("X-Request-Id")) }},
	"a write that comes twice, by another name": {check: "RequestIsSent", asks: func(r *http.Request) (*http.Response, error) { return twice(r, "hidden") }},
	"a retry that comes twice": {check: "RetryAsksAgain", asks: func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("X-Request-Id") == "retryasksagain-2" {
			return twice(r, "hidden")
		}
		return passed(r)
	}},
	"a retry with the latest token": {
		check: "RetryAsksAgain", hears: func(line string) string { return strings.Replace(line, "retry", "write key6=again", 1) },
		says: func(e *history.Event) {
			if e.Kind == history.KindInvoke && e.Request == "retryasksagain-2" {
				e.RetryOf = "retryasksagain-1"
			}
		},
	},
	"a retry that shows another token than it says": {check: "RetryAsksAgain", asks: func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("X-Request-Id") == "retryasksagain-2" {
			r.Header.Set("Fencing-Token", r.Header.Get("Fencing-Token")+"0")
		}
		return passed(r)
	}},
	"a refusal that is taken for an ok": {check: "LateWriteIsSent", asks: func(r *http.Request) (*http.Response, error) {
		answer, err := passed(r)
		if err == nil && answer.StatusCode == http.StatusPreconditionFailed {
			answer.StatusCode, answer.Header, answer.Body, answer.ContentLength = http.StatusNoContent, nil, http.NoBody, 0
		}
		return answer, err
	}},
	"a value without white space before it": {check: "ValuesAreWhole", hears: func(line string) string { return strings.Replace(line, "= ", "=", 1) }},
	"a value without white space behind it": {check: "ValuesAreWhole", hears: strings.TrimSpace},
	"a value without its last newline":      {check: "ValuesAreWhole", says: func(e *history.Event) { e.Value = strings.TrimSuffix(e.Value, "\n") }},
	"a value without its first newline":     {check: "ValuesAreWhole", says: func(e *history.Event) { e.Value = strings.TrimPrefix(e.Value, "\n") }},
}

// roundTrip is a way to the storage.
type roundTrip func(*http.Request) (*http.Response, error)

func (do roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

func passed(r *http.Request) (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }

// twice passes a write on, before that by another name.
func twice(r *http.Request, name string) (*http.Response, error) {
	if r.Method != http.MethodPut {
		return passed(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.Header.Set("X-Request-Id", name)
	again.Body, r.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	if _, err := passed(again); err != nil {
		return nil, err
	}
	return passed(r)
}

// between puts do between the client and the storage.
func (do roundTrip) between(args []string) {
	place := slices.Index(args, "--storage") + 1
	storage, err := url.Parse(args[place])
	if err != nil {
		panic(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(storage)
	proxy.Transport = do
	args[place] = httptest.NewServer(proxy).URL
}

// unable is a client that knows few commands.
const unable = "unable"

// brokenCommand is a client that is broken in one way.
func brokenCommand() *cobra.Command {
	return &cobra.Command{Use: "broken NAME", DisableFlagParsing: true, RunE: func(cmd *cobra.Command, args []string) error {
		b := broken[args[0]]
		if args[0] == unable {
			b.hears = func(line string) string {
				return strings.NewReplacer("trylock", "x", "count", "x", "write", "x").Replace(line)
			}
		}
		if b.args != nil {
			b.args(args[1:])
		}
		if b.asks != nil {
			b.asks.between(args[1:])
		}
		heard, tell := io.Pipe()
		said, say := io.Pipe()
		go b.tell(tell)
		passed := make(chan struct{})
		go func() {
			defer close(passed)
			b.pass(said)
		}()
		ctx := cmd.Context()
		if b.deaf {
			ctx = context.WithoutCancel(ctx)
		}
		client := clientcmd.Command(all.List)
		client.SetArgs(append([]string{"agent"}, args[1:]...))
		client.SetIn(heard)
		client.SetOut(say)
		err := client.ExecuteContext(ctx)
		say.Close()
		<-passed
		return err
	}}
}

// tell passes on what the client is told.
func (b breakage) tell(to io.WriteCloser) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if line = strings.TrimSuffix(line, "\n"); b.hears != nil {
			line = b.hears(line)
		}
		fmt.Fprintln(to, line)
	}
	if b.dies {
		os.Exit(0)
	}
	to.Close()
}

// pass passes on what the client says.
func (b breakage) pass(from io.Reader) {
	for dec := json.NewDecoder(from); ; {
		var e history.Event
		if err := dec.Decode(&e); err != nil {
			return
		}
		if b.says != nil {
			b.says(&e)
		}
		if err := history.Write(os.Stdout, []history.Event{e}); err != nil {
			os.Exit(1)
		}
	}
}

// hostile are ways to say nothing that makes sense, and what is said of each.
var hostile = map[string]struct {
	do   func()
	want string
}{
	"garbage":         {func() { fmt.Println("\x00\xff no client"); <-make(chan int) }, "no client"},
	"half a line":     {func() { fmt.Print(`{"at":1,`) }, "with status 0"},
	"another's lines": {func() { fmt.Println(`{"at":1,"lane":"storage","kind":"applied"}`); <-make(chan int) }, `its lane is "storage"`},
	"an unknown field": {func() {
		fmt.Printf(`{"at":%d,"lane":"saysready","client":"saysready","kind":"note","key":"protocol","value":"1","colour":"red"}`+"\n", time.Now().UnixNano())
		<-make(chan int)
	}, `a field "colour"`},
	"100 MB":  {func() { io.Copy(os.Stdout, io.LimitReader(endless{}, 100<<20)) }, "longer than 1048576 bytes"},
	"death":   {func() { fmt.Fprintln(os.Stderr, "no lock service here"); os.Exit(1) }, "no lock service here"},
	"silence": {func() { io.Copy(io.Discard, os.Stdin) }, "says nothing for 1s"},
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func hostileCommand() *cobra.Command {
	return &cobra.Command{Use: "hostile NAME", DisableFlagParsing: true, Run: func(_ *cobra.Command, args []string) { hostile[args[0]].do() }}
}

// judge checks a client that is a role of the test's program.
func judge(t *testing.T, s *service.Service, settings setting.Values, patience time.Duration, only []string, role ...string) agentcheck.Report {
	t.Helper()
	report, err := agentcheck.Judge(t.Context(), agentcheck.Options{
		Command: append([]string{os.Args[0]}, role...), Service: s, Settings: settings, Exe: os.Args[0], Patience: patience, Only: only,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestOwnClient: gcsim's own client obeys the protocol, at every kind of lock service.
func TestOwnClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		service  *service.Service
		settings setting.Values
	}{
		"etcd":                        {etcd.Service(), nil},
		"Redis, with a token":         {redis.Service(), setting.Values{"by": "fenced"}},
		"Redis, without one":          {redis.Service(), nil},
		"Redis, by package redislock": {redis.Service(), setting.Values{"by": "redislock"}},
		"lock files":                  {lockfile.Service(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := judge(t, tt.service, tt.settings, time.Minute, nil, "client", "agent")
			for _, r := range report.Results {
				if r.Outcome != agentcheck.Holds {
					t.Errorf("%s: %s: %s\n%s", r.Check, r.Outcome, r.Why, strings.Join(r.Said, "\n"))
				}
			}
			for _, r := range report.Results {
				if _, ok := broken[r.Check]; !ok {
					t.Errorf("no client breaks %s", r.Check)
				}
			}
		})
	}
}

// TestBrokenClients: each check finds the client that breaks its rule.
func TestBrokenClients(t *testing.T) {
	t.Parallel()
	for name, b := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if b.waits {
				patience = 5 * time.Second
			}
			s, settings := etcd.Service(), setting.Values(nil)
			if b.redis {
				s, settings = redis.Service(), setting.Values{"by": "fenced"}
			}
			check := cmp.Or(b.check, name)
			report := judge(t, s, settings, patience, []string{check}, "broken", name)
			r := report.Results[len(report.Results)-1]
			if r.Check != check || r.Outcome != agentcheck.Fails || r.Why == "" {
				t.Errorf("%s: %s: %s\n%s", r.Check, r.Outcome, r.Why, strings.Join(r.Said, "\n"))
			}
			t.Log(r.Why)
		})
	}
}

// TestCommandsThatAreLeftOut: a client need not obey all commands; it must those that all
// scenarios use.
func TestCommandsThatAreLeftOut(t *testing.T) {
	for name, want := range map[string]string{"TryTakesIfFree": agentcheck.LeftOut, "CountAdds": agentcheck.LeftOut, "ValuesAreWhole": agentcheck.Fails} {
		report := judge(t, etcd.Service(), nil, time.Minute, []string{name}, "broken", unable)
		if r := report.Results[1]; r.Outcome != want || !strings.Contains(r.Why, "by an error: unknown command") {
			t.Errorf("%s: %s: %s, want that it %s", r.Check, r.Outcome, r.Why, want)
		}
	}
}

// TestHostileClients: who is no client is told what it did, and is not judged.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	for name, tt := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if name == "silence" {
				patience = time.Second
			}
			report := judge(t, redis.Service(), nil, patience, nil, "hostile", name)
			first := report.Results[0]
			if first.Outcome != agentcheck.Fails || !strings.Contains(first.Why, tt.want) || !strings.Contains(first.Why, "hostile") || len(first.Why) > 2000 {
				t.Errorf("%s: %s; want %q, and the command", first.Outcome, first.Why, tt.want)
			}
			if n := report.Count(agentcheck.NotJudged); n != len(report.Results)-1 {
				t.Errorf("%d checks were not judged, want all others", n)
			}
		})
	}
}

// TestCannotCheck: what keeps a client from being checked at all.
func TestCannotCheck(t *testing.T) {
	options := func(change func(*agentcheck.Options)) agentcheck.Options {
		o := agentcheck.Options{Command: []string{os.Args[0]}, Service: redis.Service(), Exe: os.Args[0], Patience: time.Second}
		change(&o)
		return o
	}
	for want, o := range map[string]agentcheck.Options{
		"executable file not found":   options(func(o *agentcheck.Options) { o.Command = []string{"no-such-program"} }),
		`there is no check "Nothing"`: options(func(o *agentcheck.Options) { o.Only = []string{"Nothing"} }),
		"by is \"magic\"":             options(func(o *agentcheck.Options) { o.Settings = setting.Values{"by": "magic"} }),
	} {
		if _, err := agentcheck.Judge(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

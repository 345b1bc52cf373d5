package agent_test

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/pkg/fence"
)

// agent is a "client agent" in this process.
type agent struct {
	stdin  *io.PipeWriter
	cancel context.CancelFunc
	events chan history.Event
	ended  chan error
}

// lines checks that each write is one line that is an event.
type lines struct {
	t      *testing.T
	events chan<- history.Event
	last   time.Duration
}

func (l *lines) Write(b []byte) (int, error) {
	var e history.Event
	if err := json.Unmarshal(b, &e); err != nil || strings.Count(string(b), "\n") != 1 {
		l.t.Errorf("one write of %q, want one line of JSON: %v", b, err)
	}
	if e.At < l.last || time.Duration(time.Now().UnixNano()) < e.At {
		l.t.Errorf("the time of %q is not between that of the line before and now", b)
	}
	if e.Lane != "client1" || e.Client != "client1" {
		l.t.Errorf("%q is not about client1", b)
	}
	l.last, e.At, e.Lane, e.Client = e.At, 0, "", ""
	l.events <- e
	return len(b), nil
}

func startAgent(t *testing.T, w *clienttest.World, args ...string) *agent {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, stdin := io.Pipe()
	a := &agent{stdin, cancel, make(chan history.Event, 100), make(chan error, 1)}
	cmd := clientcmd.Command(all.List)
	cmd.SetArgs(w.Args(append([]string{"agent", "--name", "client1", "--ttl", "3s"}, args...)...))
	cmd.SetIn(r)
	cmd.SetOut(&lines{t: t, events: a.events})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	go func() {
		a.ended <- cmd.ExecuteContext(ctx)
		close(a.ended)
	}()
	t.Cleanup(func() { cancel(); stdin.Close(); <-a.ended })
	a.want(t, history.Event{Kind: history.KindNote, Key: "protocol", Value: "1", Text: "ready"})
	return a
}

// startAlone starts an agent in a world of its own, side by side with other tests.
func startAlone(t *testing.T, args ...string) (*clienttest.World, *agent) {
	t.Helper()
	t.Parallel()
	w := clienttest.New(t)
	return w, startAgent(t, w, args...)
}

func (a *agent) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(a.stdin, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (a *agent) next(t *testing.T) history.Event {
	t.Helper()
	select {
	case e := <-a.events:
		return e
	case <-time.After(clienttest.Patience):
		t.Fatal("the agent says nothing")
		panic("unreachable")
	}
}

func (a *agent) want(t *testing.T, want history.Event) {
	t.Helper()
	if got := a.next(t); !reflect.DeepEqual(got, want) {
		t.Fatalf("the agent says\n%+v, want\n%+v", got, want)
	}
}

// operate has the agent do something and returns what became of it, but for its
// text, which must be there where it did not succeed.
func (a *agent) operate(t *testing.T, line string, ask history.Event) (outcome history.Event, text string) {
	t.Helper()
	a.say(t, line)
	ask.Kind = history.KindInvoke
	a.want(t, ask)
	outcome = a.next(t)
	text, outcome.Text = outcome.Text, ""
	if (outcome.Kind == history.KindOK) != (text == "") {
		t.Errorf("%s: outcome %+v with text %q", line, outcome, text)
	}
	return outcome, text
}

func (a *agent) expect(t *testing.T, line string, ask, want history.Event) (text string) {
	t.Helper()
	got, text := a.operate(t, line, ask)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: outcome\n%+v, want\n%+v", line, got, want)
	}
	return text
}

// does has the agent do something and returns what became of it.
func (a *agent) does(t *testing.T, line string) history.Event {
	t.Helper()
	a.say(t, line)
	if e := a.next(t); e.Kind != history.KindInvoke {
		t.Fatalf("%s: the agent says\n%+v, want that it asks", line, e)
	}
	return a.next(t)
}

// wantKind has the agent do something and wants what becomes of it to be of a kind.
func (a *agent) wantKind(t *testing.T, line string, want history.Kind) history.Event {
	t.Helper()
	e := a.does(t, line)
	if e.Kind != want {
		t.Fatalf("%s: %+v, want %q", line, e, want)
	}
	return e
}

// wantNote wants the next event to be a note.
func (a *agent) wantNote(t *testing.T, text string) history.Event {
	t.Helper()
	e := a.next(t)
	if e.Kind != history.KindNote || !strings.Contains(e.Text, text) {
		t.Fatalf("the agent says\n%+v, want a note with %q", e, text)
	}
	return e
}

func (a *agent) wantError(t *testing.T, line, text string) {
	t.Helper()
	a.say(t, line)
	if e := a.next(t); e.Kind != history.KindError || !strings.Contains(e.Text, text) {
		t.Fatalf("%s: %+v, want an error with %q", line, e, text)
	}
}

// take locks and returns the grant as an event with nothing else.
func (a *agent) take(t *testing.T, line string) history.Event {
	t.Helper()
	ask := history.Event{Op: line, Scope: "/lock"}
	got, text := a.operate(t, line, ask)
	if got.Kind != history.KindOK || !got.Token.Valid() || !strings.HasPrefix(got.Tenure, "/lock/") || got.Scope != "/lock" {
		t.Fatalf("%s: %+v %s", line, got, text)
	}
	got.Kind, got.Op = "", ""
	return got
}

func (a *agent) wantEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-a.ended:
		if err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	case <-time.After(clienttest.Patience):
		t.Fatal("the agent does not end")
	}
	select {
	case e := <-a.events:
		t.Errorf("at the end the agent says %+v, too", e)
	default:
	}
}

// with is e with changes.
func with(e history.Event, change func(*history.Event)) history.Event {
	change(&e)
	return e
}

func TestAgentProtocol(t *testing.T) {
	w, a := startAlone(t)
	kind := func(e history.Event, k history.Kind) history.Event {
		return with(e, func(e *history.Event) { e.Kind = k })
	}

	ask := history.Event{Op: "write", Scope: "/lock", Key: "key0", Value: "unlocked", Request: "client1-1"}
	a.expect(t, "write key0=unlocked", ask, with(ask, func(e *history.Event) { e.Kind, e.Reason = "fail", "missing" }))
	ask = history.Event{Op: "unlock", Scope: "/lock"}
	a.expect(t, "unlock", ask, kind(ask, "fail"))
	a.say(t, "status")
	a.want(t, history.Event{Kind: "note", Scope: "/lock", Text: "holds nothing"})

	grant := a.take(t, "lock")
	if keys := w.Queue(t, "/lock", 1); grant.Tenure != keys[0]+"@"+grant.Token.String() {
		t.Errorf("etcd says the holder is %q, the agent says %q", keys[0], grant.Tenure)
	}
	a.say(t, "status")
	a.want(t, with(grant, func(e *history.Event) { e.Kind, e.Text = "note", "holds /lock with token "+grant.Token.String() }))
	ask = history.Event{Op: "lock", Scope: "/lock"}
	if text := a.expect(t, "lock", ask, with(ask, func(e *history.Event) { e.Kind, e.Reason = "fail", "held" })); !strings.Contains(text, "already holds") {
		t.Errorf("a second lock: %s", text)
	}

	request := func(op, key, value, id string) history.Event {
		return with(grant, func(e *history.Event) { e.Op, e.Key, e.Value, e.Request = op, key, value, id })
	}
	ask = request("read", "key0", "", "client1-2")
	a.expect(t, "read key0", ask, with(ask, func(e *history.Event) { e.Kind, e.Missing = "ok", true }))
	ask = request("write", "key0", " a=b <c> ", "client1-3")
	a.expect(t, "write key0= a=b <c> ", ask, kind(ask, "ok"))
	ask = request("read", "key0", "", "client1-4")
	a.expect(t, "read key0", ask, with(ask, func(e *history.Event) { e.Kind, e.Value = "ok", " a=b <c> " }))
	ask = request("delete", "key0", "", "client1-5")
	a.expect(t, "delete key0", ask, kind(ask, "ok"))
	if m, err := w.KV.Mark(t.Context(), "/lock"); err != nil || m.Token != grant.Token {
		t.Errorf("the mark of /lock is %v, %v, want %v", m, err, grant.Token)
	}
	ask = with(grant, func(e *history.Event) { e.Op = "unlock" })
	a.expect(t, "unlock", ask, kind(ask, "ok"))
	w.WantFree(t, "/lock")

	second := a.take(t, "trylock")
	if second.Token <= grant.Token || second.Tenure == grant.Tenure {
		t.Errorf("grants %+v, then %+v", grant, second)
	}
	ask = with(second, func(e *history.Event) { e.Op = "unlock" })
	a.expect(t, "unlock", ask, kind(ask, "ok"))
	other := w.Take(t, "/lock")
	ask = history.Event{Op: "trylock", Scope: "/lock"}
	a.expect(t, "trylock", ask, kind(ask, "fail"))
	a.say(t, "lock")
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	w.Queue(t, "/lock", 2)
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	if e := a.next(t); e.Kind != "ok" || e.Op != "lock" || e.Token <= other.Grant().Token {
		t.Errorf("after the release: %+v, want the lock", e)
	}
}

func TestAgentBadCommands(t *testing.T) {
	t.Parallel()
	a := startAgent(t, clienttest.New(t))
	for _, c := range []struct{ line, want string }{
		{"lokc", `unknown command "lokc", want one of: lock [NAME] [within TIME] [in TENURE], trylock [NAME] [in TENURE],`},
		{" lock", `unknown command ""`},
		{"lock /a /b", `want nothing more, or "in TENURE"`},
		{"lock in ", `want nothing more, or "in TENURE"`},
		{"lock within soon", `lock within soon: want a time above 0`},
		{"lock within 0s", `lock within 0s: want a time above 0`},
		{"lock within 1s /other", `want nothing more, or "in TENURE"`},
		{"wait within 1s more", `want nothing more, or "within TIME"`},
		{"wait up there", `want nothing more, or "within TIME"`},
		{"queue up there", `queue up there: want nothing more than the name of a lock`},
		{"unlock /a /b", `unlock /a /b: want nothing more than the name of a lock`},
		{"begin unlock /a /b", `begin unlock /a /b: want nothing more than the name of a lock`},
		{"status now", `"status" stands alone`},
		{"read", `read what? want "read KEY [under NAME]"`},
		{"read  under /a", `the key is ""`},
		{"write key0 under /a", `want KEY=VALUE`},
		{"delete ", `delete what?`},
		{"write key0", `want KEY=VALUE`},
		{"write =x", `the key is ""`},
		{"read key0 ", `the key is "key0 "`},
		{"write key0=\xff", "not UTF-8"},
		{"load", `want "load DURATION"`},
		{"load soon", "such as 3s"},
		{"load -1s", "such as 3s"},
		{"load 1s", "GODEBUG=gcstoptheworld=1"},
		{"gc", "GODEBUG=gcstoptheworld=1"},
	} {
		a.say(t, c.line)
		if e := a.next(t); e.Kind != history.KindError || !strings.Contains(e.Text, c.want) {
			t.Errorf("%q: %+v, want an error with %s", c.line, e, c.want)
		}
	}
	a.say(t, "\n\nhelp\r")
	if e := a.next(t); e.Kind != history.KindNote || !strings.Contains(e.Text, "write KEY=VALUE") {
		t.Errorf("help: %+v", e)
	}
	a.stdin.Close()
	a.wantEnd(t)
}

func wantMark(t *testing.T, w *clienttest.World, scope string, want fence.Token) {
	t.Helper()
	if m, err := w.KV.Mark(t.Context(), scope); err != nil || m.Token != want {
		t.Errorf("the mark of %s is %v, %v, want %v", scope, m.Token, err, want)
	}
}

// linkTo leads clients to etcd on a way on which the answers can be held up.
func linkTo(t *testing.T, w *clienttest.World) *network.Link {
	t.Helper()
	l, err := network.New(strings.TrimPrefix(w.Server.Endpoint(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	w.Way = l.Addr()
	return l
}

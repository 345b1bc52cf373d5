package agent_test

import (
	"errors"
	"io"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/all"
)

// ends are the ways to end an agent.
var ends = map[string]func(*agent){
	"end of input": func(a *agent) { a.stdin.Close() },
	"cancelled":    func(a *agent) { a.cancel() },
}

func TestAgentReleasesAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w, a := startAlone(t)
			grant := a.take(t, "lock")
			end(a)
			ask := with(grant, func(e *history.Event) { e.Op, e.Kind = "unlock", "invoke" })
			a.want(t, ask)
			a.want(t, with(ask, func(e *history.Event) { e.Kind = "ok" }))
			a.wantEnd(t)
			w.WantFree(t, "/lock")
		})
	}
}

func TestAgentGivesUpWaitingWhenCancelled(t *testing.T) {
	w, a := startAlone(t)
	w.Take(t, "/lock")
	a.say(t, "lock")
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	w.Queue(t, "/lock", 2)
	a.cancel()
	if e := a.next(t); e.Kind != "fail" || e.Op != "lock" {
		t.Errorf("%+v, want that it failed", e)
	}
	a.wantEnd(t)
	w.Queue(t, "/lock", 1)
}

type brokenPipe struct{ err error }

func (b brokenPipe) Write([]byte) (int, error) { return 0, b.err }

func TestAgentEndsWhereNobodyReads(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	r, stdin := io.Pipe()
	defer stdin.Close()
	cmd := clientcmd.Command(all.List)
	cmd.SetArgs(w.Args("agent"))
	cmd.SetIn(r)
	gone := errors.New("nobody reads")
	cmd.SetOut(brokenPipe{gone})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(clienttest.Within(t)); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

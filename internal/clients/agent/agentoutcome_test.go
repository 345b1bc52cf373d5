package agent_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestAgentIsStale is the whole lesson: the grant is a value, used after the loss.
func TestAgentIsStale(t *testing.T) {
	w, a := startAlone(t)
	grant := a.take(t, "lock")
	w.Revoke(t, grant.Tenure)
	text := "lost /lock, which it held with token " + grant.Token.String()
	a.want(t, with(grant, func(e *history.Event) { e.Kind, e.Text = history.KindLost, text }))
	other := w.Take(t, "/lock")
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: other.Grant().Claim()}, "key0", "other"); err != nil {
		t.Fatal(err)
	}
	ask := with(grant, func(e *history.Event) { e.Op, e.Key, e.Value, e.Request = "write", "key0", "late", "client1-1" })
	said := a.expect(t, "write key0=late", ask, with(ask, func(e *history.Event) {
		e.Kind, e.Reason, e.Mark = "fail", "stale", other.Grant().Token
	}))
	if want := (&fence.StaleError{Scope: "/lock", Token: grant.Token, Mark: other.Grant().Token}).Error(); said != want {
		t.Errorf("the refusal says %q, want %q", said, want)
	}
	a.say(t, "status")
	a.want(t, with(grant, func(e *history.Event) { e.Kind, e.Text = "note", text }))
	ask = with(grant, func(e *history.Event) { e.Op = "unlock" })
	if said := a.expect(t, "unlock", ask, with(ask, func(e *history.Event) { e.Kind = "fail" })); !strings.Contains(said, "tenure is over") {
		t.Errorf("unlock says %q, want that the tenure is over", said)
	}
	a.say(t, "status")
	a.want(t, history.Event{Kind: "note", Scope: "/lock", Text: "holds nothing"})
	if keys := w.Queue(t, "/lock", 1); keys[0] != other.Grant().Owner {
		t.Errorf("the late unlock freed the successor's lock: %q", keys)
	}
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}

	// A loss is forgotten with a new lock as well.
	first := a.take(t, "lock")
	w.Revoke(t, first.Tenure)
	if e := a.next(t); e.Kind != history.KindLost {
		t.Fatalf("%+v, want the loss", e)
	}
	if again := a.take(t, "lock"); again.Token <= first.Token {
		t.Errorf("grants %+v, then %+v", first, again)
	}
}

func TestAgentDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	over := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/hangs"):
			<-over
		case strings.HasSuffix(r.URL.Path, "/cut"):
			panic(http.ErrAbortHandler)
		}
	}))
	defer hung.Close()
	defer close(over)
	a := startAgent(t, w, "--storage", hung.URL)
	ask := history.Event{Op: "write", Scope: "/lock", Key: "cut", Value: "x", Request: "client1-1"}
	a.expect(t, "write cut=x", ask, with(ask, func(e *history.Event) { e.Kind = "unknown" }))
	ask = history.Event{Op: "write", Scope: "/lock", Key: "hangs", Value: "x", Request: "client1-2"}
	a.expect(t, "write hangs=x", ask, with(ask, func(e *history.Event) { e.Kind = "unknown" }))

	// No connection, no effect.
	hung.Listener.Close()
	hung.CloseClientConnections()
	ask = history.Event{Op: "write", Scope: "/lock", Key: "key0", Value: "x", Request: "client1-3"}
	got, text := a.operate(t, "write key0=x", ask)
	for i := 4; got.Kind == "unknown" && i < 10; i++ { // on a connection that was open
		ask.Request = "client1-" + string(rune('0'+i))
		got, text = a.operate(t, "write key0=x", ask)
	}
	if got.Kind != "fail" {
		t.Errorf("a storage that is gone: %+v %s", got, text)
	}
}

func TestAgentUnlockThatEtcdDoesNotAnswer(t *testing.T) {
	w, a := startAlone(t)
	grant := a.take(t, "lock")
	w.Server.Close()
	ask := with(grant, func(e *history.Event) { e.Op, e.Kind = "unlock", "invoke" })
	a.say(t, "unlock")
	a.want(t, ask)
	if e := a.next(t); e.Kind != "unknown" || e.Text == "" {
		t.Errorf("%+v, want that the outcome is unknown", e)
	}
}

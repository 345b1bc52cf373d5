package agent_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
)

// TestAgentLooks: what each way to look sees of a lock that is held, and of one
// that is lost.
func TestAgentLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ look, asked string }{
		{"session", ""},
		{"is-owner", "asked etcd by Mutex.IsOwner"},
		{"first", "asked etcd for the first key"},
	} {
		t.Run(c.look, func(t *testing.T) {
			w, a := startAlone(t, "--look", c.look)
			lost := func(line string) {
				t.Helper()
				if e := a.wantKind(t, line, "fail"); e.Reason != "lost" || e.Request != "" || e.Text == "" {
					t.Errorf("%s: %+v, want that nothing was sent", line, e)
				}
			}
			lost("write key0=early")
			grant := a.take(t, "lock")
			for _, line := range []string{"write key0=x", "delete key0", "change key0=x key1=y", "send write key0=x"} {
				a.say(t, line)
				if c.asked != "" {
					if e := a.wantNote(t, c.asked); e.Tenure != grant.Tenure {
						t.Errorf("%s: %+v", line, e)
					}
				}
				for _, kind := range []history.Kind{"invoke", "ok"} {
					if e := a.next(t); e.Kind != kind || e.Request == "" {
						t.Errorf("%s: %+v, want %q", line, e, kind)
					}
				}
			}
			w.Revoke(t, grant.Tenure)
			if e := a.next(t); e.Kind != history.KindLost {
				t.Fatalf("%+v, want the loss", e)
			}
			for _, line := range []string{"write key0=late", "delete key0", "change key0=late", "begin write key0=late", "send write key0=late"} {
				lost(line)
			}
			a.wantKind(t, "read key0", "ok") // does not look
			w.WantValue(t, "key0", "x")
		})
	}
}

// TestAgentIsOwnerInTheQueue: Mutex.IsOwner is true for a waiter; the first key
// of the queue is another's. Who does not ask etcd knows that it waits.
func TestAgentIsOwnerInTheQueue(t *testing.T) {
	t.Parallel()
	for look, why := range map[string]string{"is-owner": "", "session": "waits for /lock", "begin": "waits for /lock", "nothing": "waits for /lock", "first": "@"} {
		t.Run(look, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			other := w.Take(t, "/lock")
			a := startAgent(t, w, "--look", look)
			a.enqueue(t, w, 1)
			if look == "first" {
				why = other.Grant().Owner + why
			}
			if why != "" {
				for _, line := range []string{"begin write key0=x", "write key0=x", "send write key0=x"} {
					if e := a.wantKind(t, line, "fail"); e.Reason != "lost" || e.Request != "" || !strings.Contains(e.Text, why) {
						t.Errorf("%q: %+v, want that it was not sent: %q", line, e, why)
					}
				}
				return
			}
			if e := a.wantKind(t, "read key0", "fail"); e.Request != "" { // does not look before a read
				t.Errorf("%+v, want that it was not sent", e)
			}
			a.say(t, "begin write key0=x")
			e := a.next(t)
			if e.Kind != history.KindNote || !strings.Contains(e.Text, "is about to write key0=x") || !strings.Contains(e.Text, "IsOwner") {
				t.Errorf("%+v, want that it takes itself for the holder", e)
			}
			a.wantKind(t, "finish", "ok")
		})
	}
}

func TestAgentDoesNotLook(t *testing.T) {
	_, a := startAlone(t, "--look", "nothing")
	a.say(t, "begin write key0=x")
	a.wantNote(t, "does not look whether it holds /lock, and is about to write key0=x")
	if e := a.wantKind(t, "finish", "fail"); e.Reason != "missing" || e.Request == "" {
		t.Errorf("%+v, want that it was sent and refused", e)
	}
}

// TestAgentCannotLook: a look that is not answered is neither a yes nor a no.
func TestAgentCannotLook(t *testing.T) {
	t.Parallel()
	for _, look := range []string{"is-owner", "first"} {
		t.Run(look, func(t *testing.T) {
			w, a := startAlone(t, "--look", look, "--timeout", "1s", "--ttl", "60s")
			a.take(t, "lock")
			w.Server.Close()
			if e := a.wantKind(t, "write key0=x", "fail"); e.Reason != "" || e.Request != "" || e.Text == "" {
				t.Errorf("%+v, want that nothing was sent and nothing is known", e)
			}
		})
	}
}

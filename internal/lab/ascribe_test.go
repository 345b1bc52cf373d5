package lab

import (
	"cmp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestAscribe: whose a tenure is of which no client has spoken follows from who has asked for
// the lock, where that can be one client alone.
func TestAscribe(t *testing.T) {
	asks := func(name string) history.Event { return client(name, history.KindInvoke, history.OpLock, "") }
	fails := func(name string) history.Event { return client(name, history.KindFail, history.OpLock, "") }
	doubts := func(name string) history.Event { return client(name, history.KindUnknown, history.OpLock, "") }
	tries := client("c3", history.KindInvoke, history.OpTryLock, "")
	tried := client("c3", history.KindFail, history.OpTryLock, "")
	held := fails("c2")
	held.Reason = "held"
	granted, ended := observed(history.KindGranted, "/lock/a@1"), observed(history.KindEnded, "/lock/a@1")
	for name, tt := range map[string]struct {
		story []history.Event
		want  string // the words of the lock service
	}{
		"of who asks":                            {[]history.Event{asks("c2"), granted}, "c2 granted"},
		"of who does not know":                   {[]history.Event{asks("c2"), doubts("c2"), granted}, "c2 granted"},
		"of who was told that it has no lock":    {[]history.Event{asks("c2"), fails("c2"), granted}, "c2 granted"},
		"of who does not know, more likely":      {[]history.Event{asks("c2"), fails("c2"), asks("c1"), doubts("c1"), granted}, "c1 granted"},
		"of nobody who tried, and was too late":  {[]history.Event{asks("c2"), doubts("c2"), tries, tried, granted}, "c2 granted"},
		"of nobody who has not asked":            {[]history.Event{asks("c2"), held, granted}, ""},
		"of nobody who asked later":              {[]history.Event{granted, asks("c2"), fails("c2")}, ""},
		"of one of two":                          {[]history.Event{asks("c1"), doubts("c1"), asks("c2"), doubts("c2"), granted}, ""},
		"of who asks, perhaps":                   {[]history.Event{asks("c1"), doubts("c1"), asks("c2"), granted}, ""},
		"of who has it by its own word":          {[]history.Event{asks("c1"), doubts("c1"), asks("c2"), granted, client("c2", history.KindOK, history.OpLock, "/lock/a@1")}, "c2 granted"},
		"it is over, and was given back unheard": {[]history.Event{asks("c2"), doubts("c2"), granted, ended}, "c2 granted, c2 ended released"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccounts()
			a.tell(tt.story...)
			a.ascribe()
			a.recorder.flush()
			var got []string
			for _, e := range a.recorder.events()[1:] {
				if e.Lane == "etcd" {
					got = append(got, strings.TrimSpace(e.Client+" "+string(e.Kind)+" "+e.Cause))
				}
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStrays: what no client will speak of is told all the same, as that of one who asked.
func TestStrays(t *testing.T) {
	asks := func(name string) history.Event { return client(name, history.KindInvoke, history.OpLock, "") }
	fails := func(name string) history.Event { return client(name, history.KindFail, history.OpLock, "") }
	has := func(name, tenure string) history.Event { return client(name, history.KindOK, history.OpLock, tenure) }
	first, second := observed(history.KindGranted, "/lock/a@1"), observed(history.KindGranted, "/lock/b@2")
	tries, tried := client("c3", history.KindInvoke, history.OpTryLock, ""), client("c3", history.KindFail, history.OpTryLock, "")
	for name, tt := range map[string]struct {
		story []history.Event
		known string // after the step
		over  string // after the run, where that is more
	}{
		"a second one while the first lasts": {[]history.Event{asks("c1"), first, has("c1", "/lock/a@1"), second}, "c1 /lock/a@1 c1 /lock/b@2", ""},
		"of who tried, and was too late":     {[]history.Event{asks("c1"), first, has("c1", "/lock/a@1"), tries, tried, second}, "c1 /lock/a@1 c3 /lock/b@2", ""},
		"of who did not get it":              {[]history.Event{tries, tried, asks("c1"), first, has("c1", "/lock/a@1"), second}, "c1 /lock/a@1 c3 /lock/b@2", ""},
		"of the last of two":                 {[]history.Event{asks("c1"), asks("c2"), first}, "", "c2 /lock/a@1"},
		"of the last of two that gave up":    {[]history.Event{asks("c1"), fails("c1"), asks("c2"), fails("c2"), first}, "c2 /lock/a@1", ""},
		"of who asked later":                 {[]history.Event{first, asks("c1")}, "c1 /lock/a@1", ""},
		"of nobody, where nobody asked":      {[]history.Event{first}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccounts()
			a.strays = true
			a.tell(tt.story...)
			var got [2]string
			for i := range got {
				a.over = i == 1
				a.ascribe()
				a.recorder.flush()
				for _, e := range a.recorder.events() {
					if e.Kind == history.KindGranted {
						got[i] += e.Client + " " + e.Tenure + " "
					}
				}
			}
			if known := strings.TrimSpace(got[0]); known != tt.known || strings.TrimSpace(got[1]) != cmp.Or(tt.over, tt.known) {
				t.Errorf("got %q, want %q, and then %q", got, tt.known, tt.over)
			}
		})
	}
}

// TestHeardBeforeItWasTold: a client that waits in the queue hears of its grant before the
// observer does. The grant comes first all the same, also in what was recorded before.
func TestHeardBeforeItWasTold(t *testing.T) {
	for name, flush := range map[string]bool{"in one step": false, "in the next step": true} {
		t.Run(name, func(t *testing.T) {
			a := newAccounts()
			a.tell(client("c2", history.KindInvoke, history.OpLock, ""), observed(history.KindQueued, "/lock/b@2"))
			if !a.waits("c2", "/lock", 1) {
				t.Fatal("c2 does not wait")
			}
			a.n = 20
			a.tell(observed(history.KindGranted, "/lock/b@2"))
			if flush {
				a.recorder.flush()
			}
			a.n = 10
			a.tell(client("c2", history.KindOK, history.OpLock, "/lock/b@2"))
			if got := a.account(); !strings.HasSuffix(got, "c2etcd granted  /lock/b@2\nc2c2 ok lock /lock/b@2") {
				t.Errorf("got\n%s\nwant the grant right before the client's word", got)
			}
		})
	}
}

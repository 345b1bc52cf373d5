package hazelcast

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// hearing is a run that notes what it is told.
type hearing struct {
	service.Stage
	told []string
	last history.Event
}

func (h *hearing) Plan() service.Plan { return service.Plan{Locks: []string{"/lock", "/other"}} }

func (h *hearing) Tell(events ...history.Event) {
	for _, e := range events {
		h.hear(e)
	}
}

func (h *hearing) hear(e history.Event) {
	if e.At < h.last.At {
		h.told = append(h.told, "out of turn")
	}
	h.last = e
	h.told = append(h.told, strings.TrimSpace(fmt.Sprint(e.At.Nanoseconds()%100, " ", e.Kind, " ", e.Scope, " ", e.Tenure, " ", e.Token, " ", e.Cause)))
}

// tells hands over lines of a member, which must be taken.
func tells(t *testing.T, see func(string) error, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := see(line); err != nil {
			t.Error(err)
		}
	}
}

// TestAccountTakesEachLineOnce: whichever member tells it first, also one that begins anew, and
// nothing of the locks of others.
func TestAccountTakesEachLineOnce(t *testing.T) {
	h := new(hearing)
	a := newAccount(h)
	first, second := a.of("c1"), a.of("c1")
	tells(t, first, "granted 10 /lock 3", "granted 11 /theirs 4", "ended 12 /lock 3")
	tells(t, second, "granted 13 /lock 3")
	tells(t, second, "ended 14 /lock 3", "granted 15 /lock 7", "granted 16 /other 9")
	tells(t, first, "granted 17 /lock 7", "ended 14 /lock 7")
	again := a.of("c1")
	tells(t, again, "granted 10 /lock 3", "ended 12 /lock 3", "granted 20 /lock 7", "ended 20 /lock 7")
	want := []string{"10 granted /lock c1-3 3", "12 ended /lock c1-3 0", "15 granted /lock c1-7 7", "16 granted /other c1-9 9", "16 ended /lock c1-7 0"}
	if !slices.Equal(h.told, want) {
		t.Errorf("told\n%q, want\n%q", h.told, want)
	}
}

// TestAccountRefuses: members that contradict each other, and lines that say nothing.
func TestAccountRefuses(t *testing.T) {
	a := newAccount(new(hearing))
	tells(t, a.of("c1"), "granted 10 /lock 3")
	for line, want := range map[string]string{
		"granted 10 /lock 4": "of /lock it tells as number 1 that {granted 4}, and another member that {granted 3}",
		"ended 10 /lock 3":   "another member",
		"granted /lock 3":    `it says "granted /lock 3"`,
	} {
		if err := a.of("c1")(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

// TestAccountOfAnotherCluster: when all members have ended, so have the tenures, and the next
// cluster counts its fences anew.
func TestAccountOfAnotherCluster(t *testing.T) {
	h := new(hearing)
	a := newAccount(h)
	before := a.of("c1")
	tells(t, before, "granted 1 /lock 3", "ended 2 /lock 3", "granted 3 /lock 5", "granted 4 /other 6", "ended 5 /other 6")
	h.told = nil
	a.forget()
	a.forget()
	if len(h.told) != 1 || !strings.HasSuffix(h.told[0], "ended /lock c1-5 0 revoked") {
		t.Errorf("told %q, want the end of one tenure", h.told)
	}
	h.told = nil
	tells(t, before, "ended 6 /lock 5")
	tells(t, a.of("c2"), "granted 7 /lock 3")
	if len(h.told) != 1 || !strings.HasSuffix(h.told[0], "granted /lock c2-3 3") {
		t.Errorf("told %q, want the first tenure of the other cluster", h.told)
	}
}

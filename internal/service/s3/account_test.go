package s3

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// hearing is a run that notes what it is told, by times since it began.
type hearing struct {
	service.Stage
	began time.Time
	told  []string
}

func (h *hearing) Plan() service.Plan { return service.Plan{Locks: []string{"/lock", "/other"}} }

func (h *hearing) Tell(events ...history.Event) {
	for _, e := range events {
		at := time.Unix(0, int64(e.At)).Sub(h.began)
		if now := time.Since(h.began); at > now {
			h.told = append(h.told, fmt.Sprint("told at ", now))
		}
		h.told = append(h.told, strings.TrimSpace(fmt.Sprint(at, " ", e.Kind, " ", e.Scope, " ", e.Tenure, " ", e.Token, " ", e.Cause, " ", e.Text)))
	}
}

// says is a line about an object at a time since the begin of an account.
type says struct {
	at         time.Duration
	key, owner string
	until      time.Duration
	more       string
}

func (s says) line(began time.Time) []byte {
	body := ""
	if s.more != "deleted" {
		body = fmt.Sprintf(`{\"owner\":\"%s\"%s`, s.owner, s.more)
		if s.until > 0 {
			body += fmt.Sprintf(`,\"until\":\"%s\"`, began.Add(s.until).Format(time.RFC3339Nano))
		}
		body += "}"
	}
	return fmt.Appendf(nil, `{"at":%d,"key":"%s","body":"%s"}`, began.Add(s.at).UnixNano(), s.key, body)
}

// tells hands over lines when they are due, and returns what is told until a minute is over.
func tells(t *testing.T, lines ...says) []string {
	t.Helper()
	h := &hearing{began: time.Now()}
	a := newAccount(h)
	for _, s := range lines {
		time.Sleep(time.Until(h.began.Add(s.at)))
		if err := a.line(s.line(h.began)); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(time.Until(h.began.Add(time.Minute)))
	return h.told
}

// TestAccount: a tenure begins when its name is written, goes on when it is written again, and ends with its lease, or when
// the object says something else.
func TestAccount(t *testing.T) {
	const token = `,\"token\":`
	for name, c := range map[string]struct {
		lines []says
		want  []string
	}{
		"released": {[]says{{1, "lock", "a", 10, token + "7"}, {5, "lock", "", 0, token + "7"}, {6, "lock", "", 0, "deleted"}},
			[]string{"1ns granted /lock a 7", "5ns ended /lock a 0 revoked its object was overwritten"}},
		"deleted": {[]says{{1, "lock", "a", 0, ""}, {5, "lock", "", 0, "deleted"}},
			[]string{"1ns granted /lock a 0", "5ns ended /lock a 0 revoked its object was deleted"}},
		"over":    {[]says{{1, "lock", "a", 10, token + "1"}}, []string{"1ns granted /lock a 1", "10ns ended /lock a 0"}},
		"renewed": {[]says{{1, "lock", "a", 10, token + "1"}, {9, "lock", "a", 20, token + "1"}}, []string{"1ns granted /lock a 1", "20ns ended /lock a 0"}},
		"measured": {[]says{{1, "lock", "a", 0, `,\"lease\":1`}, {9, "lock", "a", 0, `,\"lease\":1`}},
			[]string{"1ns granted /lock a 0", "1.000009ms ended /lock a 0"}},
		"taken over": {[]says{{1, "lock", "a", 10, token + "1"}, {12, "lock", "b", 20, token + "2"}},
			[]string{"1ns granted /lock a 1", "10ns ended /lock a 0", "12ns granted /lock b 2", "20ns ended /lock b 0"}},
		"overwritten": {[]says{{1, "lock", "a", 10, token + "1"}, {5, "lock", "b", 20, token + "2"}},
			[]string{"1ns granted /lock a 1", "5ns ended /lock a 0 revoked its object was overwritten", "5ns granted /lock b 2", "20ns ended /lock b 0"}},
		"taken again": {[]says{{1, "lock", "a", 10, token + "1"}, {12, "lock", "a", 20, token + "1"}},
			[]string{"1ns granted /lock a 1", "10ns ended /lock a 0", "12ns granted /lock a~2 0", "20ns ended /lock a~2 0"}},
		"two locks": {[]says{{1, "lock", "a", 10, ""}, {2, "other", "b", 10, ""}, {3, "other", "", 0, "deleted"}},
			[]string{"1ns granted /lock a 0", "2ns granted /other b 0", "3ns ended /other b 0 revoked its object was deleted", "10ns ended /lock a 0"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := tells(t, c.lines...); !slices.Equal(got, c.want) {
				t.Errorf("%s: told\n%q, want\n%q", name, got, c.want)
			}
		})
	}
}

// TestToldLate: a lease that was over before its object was overwritten ended by itself, also where that was not told in time.
func TestToldLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hearing{began: time.Now()}
		a := newAccount(h)
		time.Sleep(12 * time.Nanosecond)
		for _, s := range []says{{1, "lock", "a", 10, ""}, {12, "lock", "b", 0, ""}} { // no time passes in between
			if err := a.line(s.line(h.began)); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"1ns granted /lock a 0", "10ns ended /lock a 0", "12ns granted /lock b 0"}; !slices.Equal(h.told, want) {
			t.Errorf("told %q, want %q", h.told, want)
		}
	})
}

// TestAccountRefuses: lines that say nothing, and objects that are none of the run's.
func TestAccountRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "want a change of an object",
		`{"key":"lock"}`:                    "want a change of an object",
		`{"at":1,"key":"theirs"}`:           "of none of the run's locks",
		`{"at":1,"key":"lock","body":"{x"}`: `the object of /lock says "{x"`,
	} {
		if err := newAccount(new(hearing)).line([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

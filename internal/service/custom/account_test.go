package custom

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// granted and ended are lines about the tenure a, the second by the cause that is given.
func granted(at int64) string {
	return fmt.Sprintf(`{"at":%d,"kind":"granted","scope":"/l","tenure":"a","token":"7"}`, at)
}

func ended(at int64, cause string) string {
	return fmt.Sprintf(`{"at":%d,"kind":"ended","scope":"/l","tenure":"a","cause":%q}`, at, cause)
}

// event is what the next line of an account tells a run.
func event(a *Account, line string) (history.Event, error) {
	w, err := a.Line([]byte(line))
	return w.event(), err
}

// TestAccount: what a command says is told as the run wants to be told.
func TestAccount(t *testing.T) {
	now := time.Now().UnixNano()
	for cause, want := range map[string]history.Event{
		"expired":  {},
		"released": {Cause: history.CauseRevoked, Text: "released, and not by its own client"},
		"revoked":  {Cause: history.CauseRevoked},
	} {
		a := NewAccount(time.Unix(0, now))
		e, err := event(a, granted(now))
		if err != nil || e.Kind != history.KindGranted || e.Lane != name || e.Scope != "/l" || e.Tenure != "a" || e.Token != 7 || e.At != time.Duration(now) {
			t.Fatalf("of a grant it tells %+v, %v", e, err)
		}
		if e, err = event(a, ended(now, cause)); err != nil || e.Kind != history.KindEnded || e.Tenure != "a" || e.Cause != want.Cause || e.Text != want.Text {
			t.Errorf("of an end that is %s it tells %+v, %v", cause, e, err)
		}
	}
	a := NewAccount(time.Unix(0, now))
	shared := strings.Replace(granted(now), `"7"`, `"7","mode":"shared"`, 1)
	if e, err := event(a, shared); err != nil || e.Mode != fence.Shared {
		t.Errorf("of a shared grant it tells %+v, %v", e, err)
	}
	bare := fmt.Sprintf(`{"at":%d,"kind":"granted","scope":"/l","tenure":"b"}`, now)
	if e, err := event(a, bare); err != nil || e.Token != 0 {
		t.Errorf("of a grant without a token it tells %+v, %v", e, err)
	}
	revoked := fmt.Sprintf(`{"at":%d,"kind":"ended","scope":"/l","tenure":"b","cause":"revoked","text":"by hand"}`, now)
	if e, err := event(a, revoked); err != nil || e.Text != "by hand" {
		t.Errorf("of a revocation it tells %+v, %v", e, err)
	}
}

// TestAccountRefuses: the last line of each is refused, and those before it are not.
func TestAccountRefuses(t *testing.T) {
	now := time.Now().UnixNano()
	replaced := func(line, old, new string) []string { return []string{strings.Replace(line, old, new, 1)} }
	for want, lines := range map[string][]string{
		"want a JSON line as docs/your-lock-service.md describes": {"listening on 10000"},
		"unexpected EOF":               {`{"at":`},
		`unknown field "lock"`:         replaced(granted(now), "scope", "lock"),
		"want one JSON object":         {granted(now) + granted(now)},
		`its kind is "lock"`:           replaced(granted(now), "granted", "lock"),
		`its kind is ""`:               {"{}"},
		"want a scope":                 replaced(granted(now), "/l", ""),
		"and a tenure":                 replaced(granted(now), `"a"`, `""`),
		"its token is -7":              replaced(granted(now), `"7"`, `"-7"`),
		"invalid use of ,string":       replaced(granted(now), `"7"`, "7"),
		"invalid mode":                 replaced(granted(now), `"7"`, `"7","mode":"half"`),
		"no cause":                     replaced(granted(now), `"7"`, `"7","cause":"expired"`),
		"no token and no mode":         {granted(now), strings.Replace(ended(now, "expired"), `"a"`, `"a","token":"7"`, 1)},
		`its cause is "", want`:        {granted(now), ended(now, "")},
		`its cause is "lost", want`:    {granted(now), ended(now, "lost")},
		"before it was started":        {granted(now / 1e6)},
		"yet to come":                  {granted(now + int64(time.Minute))},
		"want one that is not lower":   {granted(now + 1), ended(now, "expired")},
		"granted a second time":        {granted(now), ended(now, "expired"), granted(now)},
		"ends, and was not granted":    {ended(now, "expired")},
		"ends a second time":           {granted(now), ended(now, "expired"), ended(now, "released")},
		"ends for /m, and was granted": {granted(now), strings.Replace(ended(now, "expired"), "/l", "/m", 1)},
		"it has said more than":        {granted(now), strings.Repeat(" ", 64<<20)},
	} {
		a := NewAccount(time.Unix(0, now))
		for i, line := range lines {
			_, err := a.Line([]byte(line))
			if last := i == len(lines)-1; !last && err != nil || last && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("line %d, %.200s: %v, want %q", i+1, line, err, want)
			}
		}
	}
}

// FuzzAccount: whatever a command says, nothing is taken but a grant of a new tenure and the
// end of one that was granted.
func FuzzAccount(f *testing.F) {
	for _, line := range []string{granted(1), ended(2, "released"), `{"kind":"run"}`, `{"at":`, "null", ""} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a := NewAccount(time.Unix(0, 0))
		if _, err := a.Line([]byte(granted(1))); err != nil {
			t.Fatal(err)
		}
		e, err := event(a, string(line))
		if err != nil {
			return
		}
		if e.Lane != name || e.Token < 0 || (e.Kind == history.KindGranted) == (e.Tenure == "a") {
			t.Errorf("%q is taken as %+v", line, e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%q is taken, and cannot be recorded: %v", line, err)
		}
	})
}

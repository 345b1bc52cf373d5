package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// ready is the first line of a client, at a time.
func ready(at int64, version string) string {
	return fmt.Sprintf(`{"at":%d,"lane":"client1","kind":"note","client":"client1","key":"protocol","value":%q}`, at, version)
}

// TestReaderRefuses: what a client says is taken in line by line, up to the first line that no
// client says.
func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixNano()
	good := ready(now, Protocol)
	at := func(at int64) string {
		return fmt.Sprintf(`{"at":%d,"lane":"client1","kind":"note","client":"client1"}`, at)
	}
	for name, tt := range map[string]struct {
		lines []string
		want  string // in the error of the last line; "": there is none
	}{
		"a client":                  {[]string{good, at(now), at(now + 1)}, ""},
		"no JSON":                   {[]string{good, "ready"}, "invalid character"},
		"another's":                 {[]string{strings.ReplaceAll(good, "client1", "client2")}, `its lane is "client2", want "client1"`},
		"of another":                {[]string{strings.Replace(good, `"client":"client1"`, `"client":"client2"`, 1)}, `its client is "client2"`},
		"the lock service's":        {[]string{good, `{"lane":"client1","kind":"granted"}`}, `its kind is "granted"`},
		"another version":           {[]string{ready(now, "2")}, `its version of the protocol is "2", and this gcsim speaks "1"`},
		"no greeting":               {[]string{at(now)}, "its first event is not that by which a client says that it is ready"},
		"milliseconds":              {[]string{ready(now/1e6, Protocol)}, "before it was started: want nanoseconds"},
		"a clock that is ahead":     {[]string{good, at(now + int64(time.Hour))}, "which is yet to come"},
		"a time that goes backward": {[]string{good, at(now + 2), at(now + 1)}, "want one that is not lower"},
		"too much":                  {[]string{good, strings.Repeat(" ", 64<<20)}, "it has said more than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reader{Client: "client1", Began: time.Unix(0, now)}
			var err error
			for i, line := range tt.lines {
				if err != nil {
					t.Fatalf("line %d: %v", i, err)
				}
				_, err = r.Event([]byte(line))
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzReader: whatever a client writes, nothing is taken in but events of this client.
func FuzzReader(f *testing.F) {
	for _, line := range []string{
		`{"at":1,"lane":"client1","client":"client1","kind":"ok","op":"lock","scope":"/lock","tenure":"1","token":"7"}`,
		`{"at":1,"lane":"storage","kind":"applied"}`, `{"lane":"client1","kind":"granted"}`, `{"lane":`, "null", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := &Reader{Client: "client1", Began: time.Unix(0, 0), greeted: true}
		e, err := r.Event(line)
		if err != nil {
			return
		}
		if e.Lane != "client1" || e.Kind == history.KindGranted || e.Kind == history.KindApplied {
			t.Errorf("%q is taken as %+v", line, e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%q is taken, and cannot be recorded: %v", line, err)
		}
	})
}

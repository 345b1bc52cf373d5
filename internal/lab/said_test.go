package lab

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// endless is a line without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestBadLines: a client that writes what is no event of its own ends the run, and the
// error says who wrote what.
func TestBadLines(t *testing.T) {
	for name, tt := range map[string]struct {
		says io.Reader
		want string
	}{
		"garbage":              {strings.NewReader("garbage\n"), `client1 says "garbage\n": invalid character`},
		"a line without end":   {endless{}, "its line is longer than 1048576 bytes"},
		"for the storage":      {strings.NewReader(`{"lane":"storage","kind":"ok"}` + "\n"), `its lane is "storage", want "client1"`},
		"for the lock service": {strings.NewReader(`{"lane":"client1","kind":"granted"}` + "\n"), `its kind is "granted"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := victims(t)
			p := r.idle(t, "client1")
			r.world.readers.Go(func() {
				r.readLines(p, tt.says, func(b []byte) error {
					_, err := saidBy("client1", b)
					return err
				})
			})
			err := r.await(t.Context(), "nothing", 10*time.Second, func() (bool, error) { return false, nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "client1 says ") {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// FuzzSaidBy: whatever a client writes, the run takes in nothing but events of this
// client.
func FuzzSaidBy(f *testing.F) {
	for _, line := range []string{
		`{"at":1,"lane":"client1","kind":"ok","op":"lock","scope":"/lock","tenure":"1","token":"7"}`,
		`{"at":1,"lane":"storage","kind":"applied"}`, `{"lane":"client1","kind":"granted"}`, `{"lane":`, "null", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := saidBy("client1", line)
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

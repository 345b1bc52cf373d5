package lab

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agent"
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
// error says who wrote what. So does one that is killed afterwards.
func TestBadLines(t *testing.T) {
	for name, tt := range map[string]struct {
		says io.Reader
		want string
	}{
		"garbage":              {strings.NewReader("garbage\n"), `client1: invalid character 'g' looking for beginning of value; it says "garbage\n"`},
		"a long line":          {strings.NewReader(strings.Repeat("y", 500) + "\n"), `; it says "` + strings.Repeat("y", 80) + `…"`},
		"a line without end":   {endless{}, "its line is longer than 1048576 bytes"},
		"for the storage":      {strings.NewReader(`{"lane":"storage","kind":"ok"}` + "\n"), `its lane is "storage", want "client1"`},
		"for the lock service": {strings.NewReader(`{"lane":"client1","kind":"granted"}` + "\n"), `its kind is "granted"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := victims(t)
			p := r.idle(t, "client1")
			r.Ends(p) // that it is to be killed excuses nothing that it said before
			r.world.readers.Go(func() {
				said := &agent.Reader{Client: "client1", Began: time.Unix(0, 0)}
				r.readLines(p, tt.says, func(b []byte) error {
					_, err := said.Event(b)
					return err
				})
			})
			err := r.await(t.Context(), "nothing", 10*time.Second, func() (bool, error) { return false, nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "client1: ") {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

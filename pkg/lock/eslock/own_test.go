package eslock

import (
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestRefuses: what New and Create cannot use, each with what to do.
func TestRefuses(t *testing.T) {
	const address = "http://127.0.0.1:9200"
	for _, tt := range []struct {
		address string
		ttl     time.Duration
		option  Option
		want    string
	}{
		{address, 0, Poll(time.Second), "want whole milliseconds"},
		{address, time.Microsecond, Poll(time.Second), "want whole milliseconds"},
		{address, time.Second, Poll(0), "want 1ms or more"},
		{address, time.Second, Index("Locks"), "want a name of small letters"},
		{address, time.Second, Index("_locks"), "want a name of small letters"},
		{"127.0.0.1:9200", time.Second, Poll(time.Second), "eslock: the address is none"},
		{"ftp://u:secret@h", time.Second, Poll(time.Second), "want a URL like http://HOST:9200"},
		{"http://u:secret@h:x", time.Second, Poll(time.Second), "want a URL like http://HOST:9200"},
	} {
		_, err := New(tt.address, tt.ttl, tt.option)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %v: got %v, want %q", tt.address, tt.ttl, err, tt.want)
		}
	}
}

package agent

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/lock"
)

// TestOutcomesOfEngines: a client reports fail where nothing was done or will be, and unknown
// of all else, whether the data is asked directly or over HTTP.
func TestOutcomesOfEngines(t *testing.T) {
	for _, fault := range kvtest.Faults() {
		want := history.KindFail
		if fault.Unknown {
			want = history.KindUnknown
		}
		if got := outcome(history.Event{}, fault.Err).Kind; got != want {
			t.Errorf("%v is reported as %s, want %s", fault.Err, got, want)
		}
		srv := httptest.NewServer(kvhttp.NewHandler(kvtest.Failing{Engine: kv.NewMemory(kv.Options{}), Err: fault.Err}, kvhttp.Options{}))
		client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
		for _, op := range []string{history.OpRead, history.OpWrite, history.OpDelete, history.OpChange} {
			ask := history.Event{Op: op, Key: "a", Value: "x", Scope: "/lock", Token: 1, Changes: []history.Change{{Key: "a", Value: "x"}}}
			err := overHTTP{client}.Do(t.Context(), &ask)
			got := outcome(ask, err)
			if err != nil && got.Kind != want || err == nil && fault.Unknown {
				t.Errorf("a %s of a storage that says %v is reported as %s, want %s", op, fault.Err, got.Kind, want)
			}
		}
		client.Close()
		srv.Close()
	}
}

// TestOutcomesOfLocks: the same of what lock services say.
func TestOutcomesOfLocks(t *testing.T) {
	unknown := &lock.UnknownError{Op: "lock", Scope: "/lock", Err: lock.ErrLost}
	for _, test := range []struct {
		err  error
		want history.Kind
	}{
		{lock.ErrLocked, history.KindFail},
		{lock.ErrLost, history.KindFail},
		{errNotGranted, history.KindFail},
		{lock.ErrCutOff, history.KindUnknown},
		{unknown, history.KindUnknown},
		{errors.Join(errNotGranted, unknown), history.KindUnknown},
		{errors.New("connection reset"), history.KindUnknown},
	} {
		if got := outcome(history.Event{}, test.err).Kind; got != test.want {
			t.Errorf("%v is reported as %s, want %s", test.err, got, test.want)
		}
	}
}

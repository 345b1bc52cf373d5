package k8slock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
)

// slow is a network in which the first write has no answer.
type slow struct {
	http.RoundTripper
	before bool                // the write is carried out before the sender hears that there is no answer
	late   func() (status int) // carries the write out
}

var errNoAnswer = errors.New("no answer")

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || s.late != nil {
		return s.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.late = func() int {
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := s.RoundTripper.RoundTrip(again)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if s.before {
		s.late()
	}
	return nil, errNoAnswer
}

// TestLate: a write without an answer leaves no lock behind, whether it was carried out or is still on its way. It was to make
// a Lease, or to take one that is free.
func TestLate(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	other, _ := backend(t, addr, long)
	for _, tt := range []struct {
		name   string
		before bool
	}{
		{"it makes a Lease late", false}, {"it takes a Lease late", false}, {"it has taken a Lease", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := kubetest.Client()
			net := &slow{RoundTripper: web.Transport, before: tt.before}
			b, err := k8slock.New("https://"+addr, "default", long, k8slock.HTTP(&http.Client{Transport: net}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.TryLock(t.Context(), scope); !errors.Is(err, errNoAnswer) || fence.OutcomeOf(err) != fence.Definite {
				t.Errorf("TryLock returned %v, %v", err, fence.OutcomeOf(err))
			}
			if status := net.late(); status != http.StatusConflict {
				t.Errorf("the write that comes late is answered %d", status)
			}
			tenure, err := other.TryLock(t.Context(), scope)
			if err != nil {
				t.Fatal(err)
			}
			if err := tenure.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

package eslock_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// eventsTTL is how long leases last while an observer is told of them: they are renewed in time on
// a busy machine, too.
const eventsTTL = 4 * time.Second

// TestEvents: an observer is told of everything.
func TestEvents(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	locktest.Observed{
		Subject: subject(addr, eventsTTL, index),
		Revoke: func(_ context.Context, g lock.Grant) error {
			send(t, http.MethodPut, addr, indexOf(t)+"/_doc/"+url.PathEscape(g.Scope), `{"token":`+g.Token.String()+`,"holders":[]}`)
			return nil
		},
	}.Run(t)
}

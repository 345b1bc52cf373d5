package eslock_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/eventtest"
	"github.com/fencelab/fencelab/pkg/lock"
)

// TestEvents: an observer is told of everything.
func TestEvents(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	eventtest.Story{
		Subject: subject(addr, eventtest.TTL, index),
		Revoke: func(_ context.Context, g lock.Grant) error {
			send(t, http.MethodPut, addr, indexOf(t)+"/_doc/"+url.PathEscape(g.Scope), `{"token":`+g.Token.String()+`,"holders":[]}`)
			return nil
		},
	}.Tell(t)
}

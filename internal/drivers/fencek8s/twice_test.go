package fencek8s_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
)

// TestSentTwice: the second write is refused because of the first one, and the change is made once.
func TestSentTwice(t *testing.T) {
	srv := start(t)
	var once bool // the next write is sent twice
	net := drivertest.Twice{RoundTripper: srv.client.Transport, Some: func(r *http.Request) bool {
		now := once && r.Method != http.MethodGet
		once = once && !now
		return now
	}}
	s, err := fencek8s.New("https://"+srv.API.Addr, configmaps("default"), fencek8s.HTTP(&http.Client{Transport: net}))
	if err != nil {
		t.Fatal(err)
	}
	type counter struct {
		Metadata json.RawMessage   `json:"metadata,omitempty"`
		Data     map[string]string `json:"data"`
	}
	more := fencek8s.Edit(func(c *counter) error {
		n := 0
		if last := c.Data["n"]; last != "" {
			if err := json.Unmarshal([]byte(last), &n); err != nil {
				return err
			}
		}
		c.Data = map[string]string{"n": fmt.Sprint(n + 1)}
		return nil
	})
	for i, claim := range []fence.Claim{
		{Scope: "orders", Token: 7}, {Scope: "orders", Token: 7}, {Scope: "orders", Token: 7, Sequence: 1},
		{Scope: "orders", Token: 8, Mode: fence.Shared},
	} {
		once = true
		if err := s.Do(t.Context(), claim, more); err != nil {
			t.Errorf("%+v: %v", claim, err)
		}
		object, _, err := s.Read(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		var c counter
		if err := json.Unmarshal(object, &c); err != nil || c.Data["n"] != fmt.Sprint(i+1) {
			t.Errorf("%+v: after %d changes the object is %s, %v", claim, i+1, object, err)
		}
	}
}

func TestSentTwiceUnread(t *testing.T) {
	srv := start(t)
	drivertest.ChangedTwiceUnread(t, srv.client.Transport, func(client *http.Client) (func(context.Context) error, error) {
		s, err := fencek8s.New("https://"+srv.API.Addr, configmaps("default"), fencek8s.HTTP(client))
		return func(ctx context.Context) error {
			return s.Do(ctx, fence.Claim{Scope: "orders", Token: 7}, func(object []byte) ([]byte, error) { return object, nil })
		}, err
	})
}

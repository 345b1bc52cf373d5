package fencek8s_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
)

// twice is a network in which the next write is sent a second time, as by a proxy that has not got the answer to the first one.
type twice struct {
	http.RoundTripper
	armed bool
}

func (n *twice) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !n.armed {
		return n.RoundTripper.RoundTrip(r)
	}
	n.armed = false
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	first := r.Clone(r.Context())
	first.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := n.RoundTripper.RoundTrip(first)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return n.RoundTripper.RoundTrip(r)
}

// TestSentTwice: the second write is refused because of the first one, and the change is made once.
func TestSentTwice(t *testing.T) {
	srv := start(t)
	net := &twice{RoundTripper: srv.client.Transport}
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
		net.armed = true
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

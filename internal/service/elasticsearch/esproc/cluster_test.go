package esproc_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// ask sends a request to a node, and returns the answer.
func ask(ctx context.Context, n *esproc.Node, method, path, body string) (status int, answer struct {
	Source struct{ V string } `json:"_source"`
}, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, answer, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, answer, json.NewDecoder(resp.Body).Decode(&answer)
}

// TestDirtyRead: a node with the primary that is isolated shows a change that it does not acknowledge, and of which the
// others know nothing.
func TestDirtyRead(t *testing.T) {
	need.Night(t, "to start three nodes")
	ctx, cancel := context.WithTimeout(t.Context(), estest.Deadline)
	defer cancel()
	c := estest.StartCluster(t, 3)
	first, other := c.Nodes[0], c.Nodes[1]
	do := func(n *esproc.Node, method, path, body string) string {
		t.Helper()
		status, answer, err := ask(ctx, n, method, path, body)
		if err != nil || status >= 300 {
			t.Fatalf("%s %s: %d, %v", method, path, status, err)
		}
		return answer.Source.V
	}
	do(first, http.MethodPut, "/x", `{"settings": {"number_of_shards": 1, "number_of_replicas": 0, "index.routing.allocation.include._name": "`+first.Name+`"}}`)
	do(first, http.MethodPut, "/x/_settings", `{"index.routing.allocation.include._name": null, "number_of_replicas": 2}`)
	do(first, http.MethodGet, "/_cluster/health/x?wait_for_status=green&timeout=60s", "")
	do(first, http.MethodPut, "/x/_doc/1", `{"v": "old"}`)

	c.Isolate(first)
	acknowledged := make(chan int, 1)
	go func() {
		status, _, _ := ask(ctx, first, http.MethodPut, "/x/_doc/1?if_seq_no=0&if_primary_term=1", `{"v": "dirty"}`)
		acknowledged <- status
	}()
	const own = "/x/_doc/1?preference=_local"
	for do(first, http.MethodGet, own, "") != "dirty" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if v := do(other, http.MethodGet, own, ""); v != "old" {
		t.Errorf("another node has %q, want the old value", v)
	}
	select {
	case status := <-acknowledged:
		t.Errorf("the change is answered, with status %d", status)
	case <-time.After(100 * time.Millisecond):
	}
}

package elasticsearch_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is its own servers, storage, clients and janitor.
func TestMain(m *testing.M) { services.Main(m, 4, node.Close) }

// services are those of these tests.
var services = labtest.Of(elasticsearch.Service())

// node is that of all tests.
var node estest.Node

// onNode is the service, with a node that is there.
func onNode(node *esproc.Node) *service.Service {
	s := elasticsearch.Service()
	s.Launch = func(context.Context, *proc.Group, setting.Values) (service.Launched, error) {
		return service.Launched{Endpoints: []string{node.Addr}, Processes: []*proc.Process{node.Process()}}, nil
	}
	return s
}

// TestStories tells them on one node, and two on a node that is there already. The runs leave
// nothing behind.
func TestStories(t *testing.T) {
	node := node.Get(t)
	url := "http://" + node.Addr
	own := lab.Options{Services: []*service.Service{onNode(node)}, Shared: labtest.Share(t)}
	of, endpoints, err := elasticsearch.Service().At(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Reach(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	t.Run("all", func(t *testing.T) {
		tell(t, own, labtest.Stories(t, services[0]))
		if need.Long() { // three nodes start slowly
			tell(t, own, services.Parse(t, "testdata/nodes/*.yaml"))
		}
		there := lab.Options{Services: []*service.Service{of}, Endpoints: endpoints}
		tell(t, there, services.Parse(t, "../../../scenarios/elasticsearch/0[13]-*.yaml"))
	})
	if left := indices(t, url); len(left) > 0 {
		t.Errorf("the runs have left %q behind", left)
	}
}

// tell tells stories, side by side.
func tell(t *testing.T, o lab.Options, stories []*scenario.Scenario) {
	t.Helper()
	labtest.Each(t, stories, func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		labtest.Run(t, s, v, o)
	})
}

// indices are those of a node.
func indices(t *testing.T, url string) (names []string) {
	t.Helper()
	resp, err := http.Get(url + "/_cat/indices?format=json&expand_wildcards=all")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var rows []struct{ Index string }
	if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		names = append(names, r.Index)
	}
	return names
}

// TestReachNamesWhatIsMissing: nobody there.
func TestReachNamesWhatIsMissing(t *testing.T) {
	addr := proctest.Nobody(t)
	err := elasticsearch.Service().Reach(t.Context(), []string{"http://user:secret@" + addr})
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error with the address and without the password", err)
	}
}

// TestAtRefuses: what is no place, and says what is.
func TestAtRefuses(t *testing.T) {
	for _, where := range []string{"127.0.0.1:9200", "ftp://h:1", "http://", "http://h:p/%zz"} {
		if _, _, err := elasticsearch.Service().At(where); err == nil || !strings.Contains(err.Error(), "want the URL of one that is there already") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestIndexOf: a lock with a run's prefix is in the run's index.
func TestIndexOf(t *testing.T) {
	for lock, want := range map[string]string{
		"": "fs-lock", "/lock": "fs-lock", "/gcsim-short/lock": "fs-lock",
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM":      "fs-lock-tadkzkka4tamfvyjynazu436vm",
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/lock": "fs-lock-tadkzkka4tamfvyjynazu436vm",
	} {
		if got := elasticsearch.IndexOf(lock); got != want {
			t.Errorf("%s is in %q, want %q", lock, got, want)
		}
	}
}

// TestParentsOf: the prefix of a run is no directory.
func TestParentsOf(t *testing.T) {
	for path, want := range map[string][]string{
		"/lock": nil, "lock": nil, "/a/b/c": {"/a", "/a/b"},
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/lock":  nil,
		"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/a/b/c": {"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/a", "/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/a/b"},
	} {
		if got := elasticsearch.ParentsOf(path); !slices.Equal(got, want) {
			t.Errorf("%s is in %q, want %q", path, got, want)
		}
	}
}

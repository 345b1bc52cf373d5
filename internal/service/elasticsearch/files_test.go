package elasticsearch_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
)

// askData sends a request for the data, as the owner of a tenure, and returns what it is told
// of it and which status it has; 0 is no answer. What the header says of a change is not true.
func askData(t *testing.T, s *stage, method, to, owner string) (told []history.Event, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(`{"value": "v"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Opaque-Id", owner+" %2Flock")
	req.Header.Set("X-Gcsim-Asked", url.PathEscape(`{"request": "r", "scope": "/lock", "lane": "client1", "op": "delete", "key": "other", "value": "other"}`))
	answered := make(chan int)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	for {
		select {
		case e := <-s.told:
			told = append(told, e)
		case status := <-answered:
			return told, status
		}
	}
}

// inWords are events, the first letters of a tenure's name with them.
func inWords(events []history.Event) (list []string) {
	for _, e := range events {
		text := fmt.Sprint(e.Kind, " ", e.Tenure)
		if e.Index > 0 {
			text = strings.TrimSpace(fmt.Sprint(e.Lane, " ", e.Request, " ", e.Index, " ", e.Kind, " ", e.Op, " ", e.Key, " ", e.Value))
		}
		list = append(list, text)
	}
	return list
}

// TestAccountOfData: it tells of each request in its order, whatever the client is told.
func TestAccountOfData(t *testing.T) {
	for _, tt := range []struct {
		name   string
		node   http.Handler
		asks   []string // methods
		want   []string
		status int // of the last
	}{
		{"answered", new(oneLock), []string{"GET", "PUT", "GET", "DELETE"},
			[]string{"storage r 1 applied read k", "storage r 2 applied write k v", "storage r 3 applied read k", "storage r 4 applied delete k"}, 200},
		{"lost", &oneLock{lost: true}, []string{"PUT", "DELETE"}, []string{"storage r 1 applied write k v", "storage r 2 applied delete k"}, 0},
		{"not done", failing(503), []string{"PUT"}, nil, 503},
		{"refused", failing(409), []string{"PUT"}, []string{"storage r 1 refused write k v"}, 409},
		{"wrong", failing(400), []string{"PUT"}, nil, 400},
		{"no change of one document", new(oneLock), []string{"POST"}, nil, 400},
		{"nothing to delete", failing(404), []string{"DELETE"}, []string{"storage r 1 applied delete k"}, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, url, _ := gated(t, tt.node)
			var told []string
			var status int
			for _, method := range tt.asks {
				var events []history.Event
				events, status = askData(t, s, method, url+"/fs-files/_doc/k", "a")
				told = append(told, inWords(events)...)
			}
			if !slices.Equal(told, tt.want) || status != tt.status {
				t.Errorf("told %q and answered %d, want %q and %d", told, status, tt.want, tt.status)
			}
		})
	}
}

// failing is a node that has no document, and answers changes like this.
func failing(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"found": false}`)
			return
		}
		w.WriteHeader(status)
	})
}

// TestSearchers: who has searched has a tenure until another has changed what it has found, or
// it ends its search.
func TestSearchers(t *testing.T) {
	node := new(oneLock)
	s, url, _ := gated(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "_search") {
			node.mu.Lock()
			defer node.mu.Unlock()
			hits := ""
			if node.there {
				hits = fmt.Sprintf(`{"_id": "k", "_seq_no": %d, "_primary_term": 1}`, node.seq)
			}
			fmt.Fprintf(w, `{"_scroll_id": "s", "hits": {"hits": [%s]}}`, hits)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/fs-lock") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		node.ServeHTTP(w, r)
	}))
	begin := func(owner string) []history.Event {
		told, _ := askData(t, s, http.MethodPost, url+"/fs-files/_search?scroll=1m", owner)
		return told
	}
	end := func(owner string) []history.Event {
		told, _ := askData(t, s, http.MethodDelete, url+"/_search/scroll", owner)
		return told
	}
	write := func(owner string) []history.Event {
		told, _ := askData(t, s, http.MethodPut, url+"/fs-files/_doc/k", owner)
		return told
	}
	remove := func(owner string) []history.Event {
		told, _ := askData(t, s, http.MethodDelete, url+"/fs-files/_doc/k", owner)
		return told
	}
	for _, step := range []struct {
		what string
		told []history.Event
		want []string
	}{
		{"a finds nothing", begin("a"), []string{"granted a"}},
		{"a makes the document", write("a"), []string{"storage r 1 applied write k v"}},
		{"b finds it", begin("b"), []string{"granted b"}},
		{"b changes it", write("b"), []string{"storage r 2 applied write k v", "ended a"}},
		{"c finds it", begin("c"), []string{"granted c"}},
		{"c ends its search", end("c"), []string{"ended c"}},
		{"a, whose tenure is over, changes it all the same", write("a"), []string{"storage r 3 applied write k v", "ended b"}},
		{"a ends its search", end("a"), nil},
		{"somebody deletes it", remove("x"), []string{"storage r 4 applied delete k"}},
		{"d finds nothing", begin("d"), []string{"granted d"}},
		{"d makes it", write("d"), []string{"storage r 5 applied write k v"}},
		{"somebody makes that undone", remove("x"), []string{"storage r 6 applied delete k", "ended d"}},
	} {
		if told := inWords(step.told); !slices.Equal(told, step.want) {
			t.Errorf("%s: told %q, want %q", step.what, told, step.want)
		}
	}
}

// TestDataInElasticsearch: settings that make no sense are refused, with what to do.
func TestDataInElasticsearch(t *testing.T) {
	for _, tt := range []struct{ storage, client, want string }{
		{"fencing: off", "by: versions", `versions compares the documents that have the data: it needs "storage: {in: service}"`},
		{"in: service", "by: tree, change: singly, compare: false", `tree compares nothing: leave "compare" out`},
		{"in: service", "by: versions", `Elasticsearch changes no two documents in one step: want "change: singly"`},
		{"in: service", "by: versions, change: singly, compare: false", ""},
		{"in: service", "change: singly", ""},
		{"in: service", "change: singly, version: external", ""},
		{"fencing: off", "version: external", "the version is the token of global-guarded"},
		{"in: service", "by: tree, change: singly, version: external", "the version is the token of global-guarded"},
	} {
		file := "title: t\nworld: {elasticsearch: {}, storage: {" + tt.storage + "}}\nclients:\n  client1: {lock: /lock, " + tt.client + "}\n" +
			"steps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"
		_, err := lab.Language(services).Parse("x.yaml", "x", []byte(file))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestNodesWant: what takes several nodes is refused on one, and an isolation where the account would not see the data.
func TestNodesWant(t *testing.T) {
	for _, tt := range []struct{ world, client, steps, want string }{
		{"", "member: primary", "", `Elasticsearch has one node: it needs "nodes: 3"`},
		{"", "", "\n  - gcsim: isolate primary", `Elasticsearch has one node: it needs "nodes: 3"`},
		{"nodes: 3", "", "\n  - gcsim: isolate primary\n  - gcsim: isolate primary", "the primary is isolated already"},
		{"nodes: 3}, storage: {in: service", "change: singly", "\n  - gcsim: isolate primary", "the account does not see the data"},
	} {
		file := "title: t\nworld: {elasticsearch: {" + tt.world + "}}\nclients:\n  client1: {lock: /lock, " + tt.client + "}\n" +
			"steps:\n  - client1: lock" + tt.steps + "\nvariants:\n  v: {expect: {verdict: safe}}\n"
		if _, err := lab.Language(services).Parse("x.yaml", "x", []byte(file)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestCompares: a search gives something to compare, and a token that is the version.
func TestCompares(t *testing.T) {
	clients := make(map[string]scenario.Client)
	for _, tt := range []struct {
		by, compare, version string
		want                 bool
	}{{"versions", "true", "internal", true}, {"versions", "false", "internal", false}, {"global-guarded", "true", "external", true}, {"global-guarded", "true", "internal", false}} {
		client := scenario.Client{Values: setting.Values{"by": tt.by, "compare": tt.compare, "version": tt.version, setting.TTL: "1s"}}
		clients[tt.by] = client
		if got := elasticsearch.Service().Compares(client); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if bounds, _ := elasticsearch.Service().Bounds(nil, clients); len(bounds) != 1 || bounds["global-guarded"] == 0 {
		t.Errorf("got the bounds %v, want that of global-guarded alone: nobody waits for the other", bounds)
	}
}

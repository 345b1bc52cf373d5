package kvhttp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// wantLines checks that text has each of lines, whole.
func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var has []string
			for l := range strings.Lines(text) {
				if strings.HasPrefix(l, name) {
					has = append(has, l)
				}
			}
			t.Errorf("no %s among\n%s", line, strings.Join(has, ""))
		}
	}
}

// TestEachOutcomeAndLimitIsCounted sends one request to a new storage, and looks
// for the one count.
func TestEachOutcomeAndLimitIsCounted(t *testing.T) {
	policy, _ := policyOf(t, access.Observe)
	options := kv.Options{MaxKeys: 1, MaxMarks: 1, Bound: func(fence.Claim) (fence.Token, error) { return 40, nil }}
	limits := kvhttp.Limits{Body: 30 << 10, Key: 10, Value: 20 << 10, Memory: 10 << 10}
	put := func(key, value string, header ...string) request {
		return request{"PUT", "/v1/kv/" + key, value, header}
	}
	big := func(n int) string { return strings.Repeat("x", n) }
	const ops = `{"op":"delete","key":"a"},`
	for _, tt := range []struct {
		method, outcome, limit string
		request
	}{
		{"PUT", "ok", "", put("a", "x", "Fencing-Token", "34")},
		{"GET", "ok", "", request{method: "GET", path: "/v1/kv/a"}},
		{"HEAD", "ok", "", request{method: "HEAD", path: "/v1/kv/a"}},
		{"DELETE", "ok", "", request{"DELETE", "/v1/kv/a", "", []string{"Fencing-Token", "34"}}},
		{"POST", "ok", "", request{method: "POST", path: "/", body: `{"op":"write","key":"a","version":34}`}},
		{"PUT", "duplicate", "", put("a", "x", "Fencing-Token", "34", "Fencing-Sequence", "2")},
		{"GET", "not_found", "", request{method: "GET", path: "/v1/kv/b"}},
		{"PUT", "stale", "", put("a", "x", "Fencing-Token", "33")},
		{"POST", "stale", "", request{method: "POST", path: "/", body: `{"op":"write","key":"a","version":33}`}},
		{"PUT", "missing", "", put("a", "x")},
		{"PUT", "invalid", "", put("a", "x", "Fencing-Token", "y")},
		{"PUT", "ahead", "", put("a", "x", "Fencing-Token", "41")},
		{"GET", "denied", "", request{method: "GET", path: "/v1/floor"}},
		{"PUT", "error", "", put("", "x", "Fencing-Token", "34")},
		{"other", "error", "", request{method: "BREW", path: "/v1/kv/a"}},
		{"other", "error", "", request{method: "DELETE", path: "/v1/batch"}},
		{"PUT", "limited", kv.LimitBody, put("a", big(31<<10), "Fencing-Token", "34")},
		{"PUT", "limited", kv.LimitKey, put(big(11), "x", "Fencing-Token", "34")},
		{"PUT", "limited", kv.LimitKeys, put("b", "x", "Fencing-Token", "34", "Fencing-Scope", "a")},
		{"PUT", "limited", kv.LimitMarks, put("b", "x", "Fencing-Token", "34")},
		{"PUT", "limited", kv.LimitMemory, put("a", big(19<<10), "Fencing-Token", "34")},
		{"PUT", "limited", kv.LimitValue, put("a", big(101), "Fencing-Token", "34")},
		{"GET", "limited", kv.LimitRate, request{method: "GET", path: "/v1/kv/a"}},
		{"POST", "limited", kv.LimitOps, request{"POST", "/v1/batch", `{"ops":[` + strings.Repeat(ops, kv.MaxOps) + `{}]}`, []string{"Fencing-Token", "34", "Fencing-Scope", "a"}}},
	} {
		t.Run(tt.method+" "+tt.outcome+" "+tt.limit, func(t *testing.T) {
			m := kvhttp.NewMetrics()
			o := kvhttp.Options{Metrics: m, Limits: limits}
			before := 0
			switch {
			case tt.outcome == "denied":
				o.Access = policy
			case tt.limit == kv.LimitOps:
				o.Limits.Memory = 1 << 30
			case tt.limit == kv.LimitValue:
				o.Limits.Value = 100
			case tt.limit == kv.LimitRate:
				o.Limits.Rate = 1
			}
			h := seeded(t, kv.NewMemory(options), o)
			if tt.outcome == "duplicate" {
				call(h, tt.request.method, tt.path, tt.body, tt.header...)
			}
			if tt.limit == kv.LimitRate {
				for call(h, "GET", "/v1/kv/a", "").Code == 200 {
					before++
				}
			} else {
				call(h, tt.request.method, tt.path, tt.body, tt.header...)
			}
			text := expose(t, m)
			wantLines(t, text,
				fmt.Sprintf("fencelab_storage_requests_total{method=%q,outcome=%q,route=%q} 1", tt.method, tt.outcome, routeOf(tt.path)),
				fmt.Sprintf("fencelab_storage_request_seconds_count{method=%q} %d", tt.method, 1+before+btoi(tt.outcome == "duplicate")))
			for _, limit := range []string{kv.LimitBody, kv.LimitKey, kv.LimitValue, kv.LimitOps, kv.LimitKeys, kv.LimitMarks, kv.LimitMemory, kv.LimitConnections, kv.LimitRate} {
				wantLines(t, text, fmt.Sprintf("fencelab_storage_limited_total{limit=%q} %d", limit, btoi(limit == tt.limit)))
			}
			if has := strings.Contains(text, "\nfencelab_storage_stale_total{scope=\"a\"} 1\n"); has != (tt.outcome == "stale") {
				t.Errorf("a stale request of scope a is counted: %v", has)
			}
		})
	}
}

// routeOf names the route of a path of these tests.
func routeOf(path string) string {
	if strings.HasPrefix(path, "/v1/kv/") {
		return "/v1/kv/{key}"
	}
	return path
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// expose is the text of metrics, whoever may read them.
func expose(t *testing.T, m *kvhttp.Metrics) string {
	t.Helper()
	w := call(m, "GET", "/metrics", "")
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestScopesWithSeriesAreBounded: whoever makes up scopes fills no memory.
func TestScopesWithSeriesAreBounded(t *testing.T) {
	m := kvhttp.NewMetrics()
	h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Metrics: m})
	for i := range 105 {
		for _, token := range []string{"34", "33", "33"} {
			call(h, "PUT", "/v1/kv/a", "x", "Fencing-Token", token, "Fencing-Scope", fmt.Sprint("/lock/", i))
		}
	}
	n, err := testutil.GatherAndCount(m.Gatherer(), "fencelab_storage_stale_total")
	if err != nil || n != 101 {
		t.Errorf("%d series, %v, want 101", n, err)
	}
	wantLines(t, expose(t, m),
		`fencelab_storage_stale_total{scope="/lock/0"} 2`,
		`fencelab_storage_stale_total{scope="/lock/99"} 2`,
		`fencelab_storage_stale_total{scope="(other)"} 10`)
}

// TestAnyScopeHasASeries: keys, which are scopes too, may be any bytes, and one
// that no label can show must not end all scrapes.
func TestAnyScopeHasASeries(t *testing.T) {
	m := kvhttp.NewMetrics()
	h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Metrics: m})
	call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "34")
	call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "33")
	wantLines(t, expose(t, m), "fencelab_storage_stale_total{scope=\"\uFFFD\"} 1")
}

func TestCommitsAreCounted(t *testing.T) {
	m := kvhttp.NewMetrics()
	m.Committed(kv.Commit{Operations: 3, Took: 2 * time.Millisecond, Sync: time.Millisecond})
	m.Committed(kv.Commit{Operations: 1, Took: time.Millisecond, Err: errors.New("a fault")})
	wantLines(t, expose(t, m),
		`fencelab_storage_commit_seconds_count{result="ok"} 1`,
		`fencelab_storage_commit_seconds_sum{result="ok"} 0.002`,
		`fencelab_storage_commit_seconds_count{result="error"} 1`,
		`fencelab_storage_fsync_seconds_count 1`,
		`fencelab_storage_fsync_seconds_sum 0.001`,
		`fencelab_storage_commit_operations_sum 4`)
}

// TestEngineIsShown: what it holds; and where it fails that, and all that does not
// come from it.
func TestEngineIsShown(t *testing.T) {
	m := kvhttp.NewMetrics()
	good := kv.NewMemory(kv.Options{})
	seeded(t, good, kvhttp.Options{Metrics: m})
	wantLines(t, expose(t, m), "fencelab_storage_keys 1", "fencelab_storage_bytes 2", "fencelab_storage_marks 1", "fencelab_storage_disk_bytes 0",
		`fencelab_storage_ready{check="engine"} 1`)

	m = kvhttp.NewMetrics()
	checks := []kvhttp.Check{{Name: "issuer", Ready: func(context.Context) error { return nil }}}
	h := kvhttp.NewHandler(kvtest.Failing{Engine: good, Err: errors.New("a fault")}, kvhttp.Options{Metrics: m, Ready: checks})
	call(h, "PUT", "/v1/kv/a", "x", "Fencing-Token", "34")
	text := expose(t, m)
	wantLines(t, text, `fencelab_storage_requests_total{method="PUT",outcome="error",route="/v1/kv/{key}"} 1`,
		`fencelab_storage_ready{check="engine"} 0`, `fencelab_storage_ready{check="issuer"} 1`)
	if strings.Contains(text, "fencelab_storage_keys ") {
		t.Error("an engine that fails tells how many keys it has")
	}
	wantLines(t, expose(t, m), `promhttp_metric_handler_errors_total{cause="gathering"} 1`)
}

func TestMetricsAreNamedAsIsUsual(t *testing.T) {
	m := everything(t)
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// everything are the metrics of a storage that has all of them.
func everything(t *testing.T) *kvhttp.Metrics {
	m := kvhttp.NewMetrics()
	m.Certificate(func() time.Time { return time.Unix(1_800_000_000, 0) })
	h := seeded(t, nil, kvhttp.Options{Metrics: m})
	call(h, "PUT", "/v1/kv/a", "x", "Fencing-Token", "33")
	wantLines(t, expose(t, m), "fencelab_storage_certificate_expiry_timestamp_seconds 1.8e+09")
	return m
}

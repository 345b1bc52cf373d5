package kvhttp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestDashboardShowsWhatIsThere: each metric, with each label and value, that the
// dashboard asks for is one that a storage has.
func TestDashboardShowsWhatIsThere(t *testing.T) {
	type panel struct {
		Title   string
		Targets []struct{ Expr string }
	}
	var dashboard struct{ Panels []panel }
	b, err := os.ReadFile("../../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	has := expose(t, everything(t))
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			asked += wantMetrics(t, p.Title, target.Expr, has)
		}
	}
	if asked < 20 {
		t.Errorf("it asks for %d metrics", asked)
	}
}

// TestAlertsAskForWhatIsThere: an alert on a metric that nobody has is never
// raised.
func TestAlertsAskForWhatIsThere(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert       string
				Expr        string
				For         string
				Labels      struct{ Severity string }
				Annotations struct{ Summary, Description string }
			}
		}
	}
	b, err := os.ReadFile("../../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(b, &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	has := expose(t, everything(t))
	asked := 0
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" || r.Labels.Severity == "" || r.Annotations.Summary == "" || r.Annotations.Description == "" {
				t.Errorf("%+v: want a name, a severity, a summary and a description", r)
			}
			n := wantMetrics(t, r.Alert, r.Expr, has)
			if n == 0 && !strings.HasPrefix(r.Expr, "up{") {
				t.Errorf("%s asks for no metric: %s", r.Alert, r.Expr)
			}
			asked += n
		}
	}
	if asked < 10 {
		t.Errorf("the rules ask for %d metrics", asked)
	}
}

var (
	selector = regexp.MustCompile(`\b((?:fencelab|go|process|promhttp)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)(=~|=)"([^"]*)"`)
)

// wantMetrics checks what an expression of PromQL asks for against the text of
// /metrics, and counts it.
func wantMetrics(t *testing.T, where, expr, has string) (asked int) {
	t.Helper()
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		asked++
		name, matchers := s[1], s[2]
		if !regexp.MustCompile(`(?m)^` + name + `[{ ]`).MatchString(has) {
			t.Errorf("%s: no metric %s", where, name)
			continue
		}
		for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
			label, op, value := m[1], m[2], m[3]
			if label == "job" || label == "instance" { // Prometheus adds them
				continue
			}
			values := []string{value}
			if op == "=~" {
				values = strings.Split(value, "|")
			}
			for _, v := range values {
				if !regexp.MustCompile(`(?m)^` + name + `\{[^}]*\b` + label + `="` + regexp.QuoteMeta(v) + `"`).MatchString(has) {
					t.Errorf("%s: no %s with %s=%q", where, name, label, v)
				}
			}
		}
	}
	return asked
}

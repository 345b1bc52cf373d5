package kvhttp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// TestWhoMayDoWhat: every request, by principals of every right.
func TestWhoMayDoWhat(t *testing.T) {
	secrets := map[string]string{}
	var file strings.Builder
	file.WriteString("tokens:\n")
	for name, rights := range map[string]string{
		"reader": "[read]", "writer": "[read, write]", "blind": "[write]", "watcher": "[observe]", "operator": "[admin]",
		"orders": "[read, write]\n    scopes: [\"/orders/\"]\n    keys: [\"orders/\"]",
	} {
		secret, hash := access.Generate()
		secrets[name] = secret
		fmt.Fprintf(&file, "  - name: %s\n    sha256: \"%s\"\n    rights: %s\n", name, hash, rights)
	}
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{
		Access: policy, Metrics: kvhttp.NewMetrics(),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	const batch = `{"ops":[{"op":"write","key":"orders/1","val":"x"},{"op":"write","key":"%s","val":"x"}]}`
	for _, tt := range []struct {
		method, path, body string
		scope, token       string
		may                string // the names, sorted
	}{
		{"PUT", "/v1/kv/orders/1", "x", "/orders/1", "1", "blind orders writer"},
		{"PUT", "/v1/kv/other", "x", "/orders/1", "1", "blind writer"},
		{"PUT", "/v1/kv/orders/1", "x", "/other", "1", "blind writer"},
		{"GET", "/v1/kv/orders/1", "", "", "", "orders reader writer"},
		{"HEAD", "/v1/kv/orders/1", "", "", "", "orders reader writer"},
		{"GET", "/v1/kv/orders/1", "", "/orders/1", "1", "orders writer"}, // it raises the mark
		{"GET", "/v1/kv/other", "", "", "", "reader writer"},
		{"DELETE", "/v1/kv/orders/1", "", "/orders/1", "1", "blind orders writer"},
		{"POST", "/v1/batch", fmt.Sprintf(batch, "orders/2"), "/orders/1", "1", "blind orders writer"},
		{"POST", "/v1/batch", fmt.Sprintf(batch, "other"), "/orders/1", "1", "blind writer"},
		{"POST", "/", `{"op":"write","key":"k","val":"x","version":1}`, "", "", "blind writer"},
		{"POST", "/", `{"op":"read","key":"k"}`, "", "", "reader writer"},
		{"GET", "/v1/marks//orders/1", "", "", "", "orders reader writer"},
		{"GET", "/v1/marks//other", "", "", "", "reader writer"},
		{"GET", "/v1/floor", "", "", "", "orders reader writer"},
		{"PUT", "/v1/floor", `{"token":"1"}`, "", "", "operator"},
		{"GET", "/v1/snapshot", "", "", "", "operator"},
		{"GET", "/metrics", "", "", "", "watcher"},
	} {
		var header []string
		if tt.scope != "" {
			header = append(header, "Fencing-Scope", tt.scope)
		}
		if tt.token != "" {
			header = append(header, "Fencing-Token", tt.token)
		}
		what := tt.method + " " + tt.path + " " + tt.scope
		for name, secret := range secrets {
			w := call(h, tt.method, tt.path, tt.body, append(header, "Authorization", "Bearer "+secret)...)
			may := strings.Contains(" "+tt.may+" ", " "+name+" ")
			if may && w.Code >= 300 || !may && w.Code != http.StatusForbidden {
				t.Errorf("%s by %s: %d %s, may: %v", what, name, w.Code, w.Body, may)
			}
		}
		for _, wrong := range [][]string{nil, {"Authorization", "Bearer unknown"}, {"Authorization", "Basic dTpw"}} {
			w := call(h, tt.method, tt.path, tt.body, append(header, wrong...)...)
			if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s with %q: %d, %q", what, wrong, w.Code, w.Header())
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		if w := call(h, "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d, want it open to all", path, w.Code)
		}
	}
	for name, secret := range secrets {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the secret of %s is in the log", name)
		}
	}
	if !strings.Contains(log.String(), "denied") {
		t.Error("no denial was logged")
	}
}

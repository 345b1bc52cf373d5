package browsertest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWrong: what a finger cannot hit is wrong with a page.
func TestWrong(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!DOCTYPE html><html lang="en"><title>small</title><main><h1>Small</h1>
<button style="font-size: 8px; padding: 0; border: 0">one</button><button style="font-size: 8px; padding: 0; border: 0">two</button></main>`))
	}))
	t.Cleanup(site.Close)
	b := Open(t, site.URL, Phone)
	if wrong := Wrong(t, b.ctx); !strings.HasPrefix(wrong, "target-size: <button") || strings.Contains(wrong, "\n") {
		t.Errorf("axe-core finds %q, want the size of two buttons, and nothing else", wrong)
	}
}

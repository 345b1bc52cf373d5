// Package pagetest asks servers as web pages have browsers ask.
package pagetest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Refused sends requests of web pages to a server on loopback, and fails the test for each that is
// obeyed: whose answer is neither 403 nor 421.
func Refused(t testing.TB, url string) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second} // what is obeyed may wait for others
	for name, add := range map[string]func(*http.Request){
		"another origin":         func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a page of a file":       func(r *http.Request) { r.Header.Set("Origin", "null") },
		"an image":               func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a page on this host":    func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"a name that leads here": func(r *http.Request) { r.Host = "evil.example:9200" },
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			add(r)
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s %s of %s: status %d, want 403 or 421", method, url, name, resp.StatusCode)
			}
		}
	}
}

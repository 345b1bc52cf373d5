// Package originaltest is for tests with clients in other languages.
package originaltest

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves the test out where the clients in a language are missing.
func Need(t testing.TB, language string) {
	t.Helper()
	l, _ := original.Of(language)
	if where, bring := l.Found(); where == "" {
		if strings.HasPrefix(bring, "gcsim ") {
			bring = "go run ./cmd/" + bring
		}
		need.Missing(t, "the clients in "+l.Title, "to tell stories with them", bring)
	}
}

package nodejs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
)

// TestMissing: what brings the libraries is said where they are missing, and where npm is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, nodejs.Name, "node-libraries: npm fetches it, and npm is missing: apt-get install nodejs npm")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "of_*.mjs") }

// TestPinned: each library has one version, from whatever mirror: what .npmrc has npm write.
func TestPinned(t *testing.T) {
	for library, version := range wanted(t) {
		if !regexp.MustCompile(`^(npm:.+@)?[0-9]+\.[0-9]+\.[0-9]+[^ ]*$`).MatchString(version) {
			t.Errorf("package.json has %s of %s, which is no version", version, library)
		}
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json says from which mirror libraries came")
	}
}

// wanted are the libraries of package.json, and their versions.
func wanted(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &of); err != nil || len(of.Dependencies) == 0 {
		t.Fatalf("package.json has %d libraries: %v", len(of.Dependencies), err)
	}
	return of.Dependencies
}

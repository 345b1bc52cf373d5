// Package javatest is for tests with clients in Java.
package javatest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves the test out where the clients are missing, or Java is.
func Need(t testing.TB) {
	t.Helper()
	need.Programs(t, "to run clients in Java", "java")
	originaltest.Need(t, java.Name)
}

// NeedClock leaves the test out where nothing makes the clock of a client in Java wrong.
func NeedClock(t testing.TB) {
	t.Helper()
	if where, bring := java.FoundClock(); where == "" {
		need.Missing(t, "libfaketime", "to have a client in Java with a wrong clock", bring)
	}
}

// page is docs/java.md, as a service's tests find it.
const page = "../../../docs/java.md"

var (
	identity = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	thread   = regexp.MustCompile(`thread-id: [0-9]+`)
	named    = regexp.MustCompile(`\[[^]]*\]`)
)

// LateUnlocks tells the stories of files, in each of which an unlock comes too late, and holds docs/java.md to
// what the client said. What a variant is about is its lock's name, with which the row of the table begins.
func LateUnlocks(t *testing.T, files string, o lab.Options) {
	Need(t)
	labtest.Each(t, labtest.Services(o.Services).Parse(t, files), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		lateUnlock(t, v.About, labtest.Run(t, s, v, o))
	})
}

func lateUnlock(t *testing.T, lock string, events []history.Event) {
	t.Helper()
	said := ""
	for _, e := range events {
		if e.Op == history.OpUnlock && e.Kind != history.KindInvoke {
			said = "returns, and says nothing"
			if _, text, ok := strings.Cut(e.Text, "that tenure is over: "); ok {
				_, words, _ := strings.Cut(text, ": ") // after the exception's name
				words = thread.ReplaceAllString(identity.ReplaceAllString(words, "…"), "thread-id: …")
				said = `"` + named.ReplaceAllString(words, "[…]") + `"`
			}
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## What an unlock says that comes too late")
	for row := range strings.Lines(table) {
		if strings.HasPrefix(row, "| "+lock+" |") {
			if said == "" || !strings.Contains(row, said) {
				t.Errorf("the row of %s does not have what it says: %s", lock, said)
			}
			return
		}
	}
	t.Errorf("%s has no row for %s, which says: %s", page, lock, said)
}

// Env holds what a service at h:1 tells its clients in Java to what is wanted. A key is the value of a variable
// of the environment that says where the service is, and a lock.
func Env(t *testing.T, of func() *service.Service, variable string, wants map[[2]string]string) {
	t.Helper()
	for given, want := range wants {
		t.Setenv(variable, given[0])
		if env, err := of().PeerEnv([]string{"h:1"}, given[1]); err != nil || len(env) != 1 || env[0] != want {
			t.Errorf("%q: %q (%v), want %q", given, env, err, want)
		}
	}
}

package agentcheck_test

import (
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
)

// ofOneLock are checks that depend on a library.
var ofOneLock = []string{"TenureIsTheServices", "LateWriteIsSent", "LateUnlockFreesNothing", "WaitEnds"}

// TestJava: a client in Java obeys the protocol, with a token and without.
func TestJava(t *testing.T) {
	javatest.Need(t)
	obeys(t, redis.Service(), java.Prefix+"redisson-fenced")
	obeys(t, redis.Service(), java.Prefix+"redisson", ofOneLock[:2]...)
}

// TestPython: so does one in Python, with each library.
func TestPython(t *testing.T) {
	originaltest.Need(t, python.Name)
	obeys(t, redis.Service(), python.Prefix+"redis-py")
}

// obeys plays the checks, all where none is named, with gcsim's own client and the recipe.
func obeys(t *testing.T, s *service.Service, by string, only ...string) {
	t.Run(by, func(t *testing.T) {
		t.Parallel()
		report, err := agentcheck.Judge(t.Context(), agentcheck.Options{
			Command: []string{os.Args[0], "client", "agent"}, Service: s, Settings: setting.Values{service.By: by},
			Exe: os.Args[0], Patience: time.Minute, Only: only,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Outcome == agentcheck.Fails || r.Outcome == agentcheck.NotJudged {
				t.Errorf("%s: %s: %s %q", r.Check, r.Outcome, r.Why, r.Said)
			}
		}
	})
}

package agentcheck_test

import (
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
)

// TestJava: a client in Java obeys the protocol, with a token and without.
func TestJava(t *testing.T) {
	javatest.Need(t)
	command := []string{os.Args[0], "client", "agent"}
	for by, only := range map[string][]string{"java/redisson-fenced": nil, "java/redisson": {"TenureIsTheServices", "LateWriteIsSent"}} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			report, err := agentcheck.Judge(t.Context(), agentcheck.Options{
				Command: command, Service: redis.Service(), Settings: setting.Values{service.By: by},
				Exe: os.Args[0], Patience: time.Minute, Only: only,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Outcome != agentcheck.Holds {
					t.Errorf("%s: %s: %s %q", r.Check, r.Outcome, r.Why, r.Said)
				}
			}
		})
	}
}

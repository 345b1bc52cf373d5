package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// TestLawsTellProgress: also where the results are JSON, which stays one document.
func TestLawsTellProgress(t *testing.T) {
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	storage := httptest.NewServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
	defer storage.Close()
	for _, asJSON := range []bool{false, true} {
		var out, told bytes.Buffer
		cmd := new(cobra.Command)
		cmd.SetContext(t.Context())
		cmd.SetOut(&out)
		cmd.SetErr(&told)
		o := lawsOptions{
			reports: reports{json: asJSON},
			Options: laws.Options{Timeout: 10 * time.Second, Only: []string{"TimeKeepsMark"}, Idle: time.Second, Every: 10 * time.Millisecond},
		}
		report, err := o.judge(cmd, []string{storage.URL})
		if err != nil || report.Count(laws.Holds) != 1 {
			t.Fatalf("%s, %v", report.Summary(), err)
		}
		if json.Valid(out.Bytes()) != asJSON || !strings.Contains(told.String(), "TimeKeepsMark: ") {
			t.Errorf("JSON: %t; it prints\n%sand tells\n%s", asJSON, &out, &told)
		}
	}
}

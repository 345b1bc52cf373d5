package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
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

// TestLawsCannotBegin: reports for machines say so, too.
func TestLawsCannotBegin(t *testing.T) {
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	var out bytes.Buffer
	cmd := new(cobra.Command)
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	file := filepath.Join(t.TempDir(), "junit.xml")
	nobody := "http://" + proctest.Nobody(t)
	_, err := lawsOptions{reports: reports{json: true, junit: file}, Options: laws.Options{Timeout: time.Second}}.judge(cmd, []string{nobody})
	if err == nil {
		t.Fatal("nobody answers, and it is judged")
	}
	var told struct {
		Laws  []any
		Error string
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil || told.Laws == nil || told.Error == "" {
		t.Errorf("%v: it prints %s", err, &out)
	}
	if xml, err := os.ReadFile(file); err != nil || !strings.Contains(string(xml), `errors="1"`) {
		t.Errorf("%v: JUnit says %s", err, xml)
	}
}

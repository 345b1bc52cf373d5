package maven_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
)

// books are what libraries names.
var books = maven.Libraries{Name: "books", POM: []byte("<project/>")}

// The test binary is also a process that gets books.
func TestMain(m *testing.M) {
	proctest.Main(m, &cobra.Command{Use: "get", RunE: func(cmd *cobra.Command, _ []string) error {
		return books.Get(cmd.Context(), io.Discard)
	}})
}

// TestGetIsKilled: whatever ends a process that fetches ends its Maven, and the next one removes what is left. What
// Maven has started ends, too, unless the process was killed: then Maven must have started nothing, and mvn becomes Java.
func TestGetIsKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		by    syscall.Signal
		hangs string
	}{
		"killed":      {syscall.SIGKILL, `echo $$ > "$PIDS/new" && mv "$PIDS/new" "$PIDS/pid"; exec sleep 1000`},
		"terminated":  {syscall.SIGTERM, `sleep 1000 & echo $! > "$PIDS/new" && mv "$PIDS/new" "$PIDS/pid"; wait`},
		"interrupted": {syscall.SIGINT, `sleep 1000 & echo $! > "$PIDS/new" && mv "$PIDS/new" "$PIDS/pid"; wait`},
	} {
		t.Run(name, func(t *testing.T) {
			pids := t.TempDir()
			t.Setenv("PIDS", pids)
			l := libraries(t, copies+tt.hangs)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			get := exec.CommandContext(ctx, os.Args[0], "get")
			if err := get.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "Maven has begun", func() bool { return slices.Contains(names(t, pids), "pid") })
			if err := get.Process.Signal(tt.by); err != nil {
				t.Fatal(err)
			}
			if err := get.Wait(); err == nil || ctx.Err() != nil {
				t.Errorf("%v ends it with %v, %v", tt.by, err, ctx.Err())
			}
			pid, err := os.ReadFile(filepath.Join(pids, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			await(t, "Maven has ended", func() bool { return ended(strings.TrimSpace(string(pid))) })
			if left := cached(t); tt.by != syscall.SIGKILL && len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}

			program := filepath.Join(filepath.SplitList(os.Getenv("PATH"))[0], "mvn")
			if err := os.WriteFile(program, []byte("#!/usr/bin/env sh\n"+copies), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := l.Get(t.Context(), io.Discard); err != nil {
				t.Fatal(err)
			}
			if all := cached(t); l.Found() == "" || !slices.Equal(all, []string{filepath.Base(l.Found())}) {
				t.Errorf("after the next one there is %q in the cache", all)
			}
		})
	}
}

// ended reports whether a process has ended, be it that nobody has reaped it.
func ended(pid string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

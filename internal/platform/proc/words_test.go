package proc

import (
	"fmt"
	"strings"
	"testing"
)

// TestEnded: the error of a child says what it said last, without the trace of a
// panic, and what to do.
func TestEnded(t *testing.T) {
	for _, tt := range []struct{ said, want, never string }{
		{"etcd: open x: too many open files\n", "ulimit -n", ""},
		{"FATAL file descriptor limit of etcd process is too low", "ulimit -n", ""},
		{"write x: no space left on device", "TMPDIR", ""},
		{"write x: file too large\npanic: no database\n\ngoroutine 1 [running]:\n" + strings.Repeat("main.main()\n\t/x.go:1\n", 1000), "ulimit -f", "main.main"},
		{"open x: cannot allocate memory", "ulimit -v", ""},
		{"fatal error: failed to reserve page summary memory\n\nruntime stack:\nruntime.throw()\n", "ulimit -v", "throw"},
		{"runtime: failed to create new OS thread (have 4 already; errno=11)\nfatal error: newosproc\n\nruntime stack:\nruntime.throw()\n", "ulimit -u", "throw"},
		{"fork/exec x: resource temporarily unavailable", "ulimit -u", ""},
		{strings.Repeat("a line\n", 10_000) + "the last one", "the last one", ""},
	} {
		var words tail
		for line := range strings.Lines(tt.said) {
			fmt.Fprint(&words, line)
		}
		got := ended("etcd1", "exit status 1", words.String()).Error()
		if !strings.HasPrefix(got, "etcd1 ended (exit status 1)") || !strings.Contains(got, tt.want) {
			t.Errorf("%.60q: it says %q, want %q in it", tt.said, got, tt.want)
		}
		if tt.never != "" && strings.Contains(got, tt.never) || len(got) > 2*tailSize {
			t.Errorf("%.60q: it says too much: %q", tt.said, got)
		}
	}
}

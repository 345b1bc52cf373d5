package java_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestInterrupted: Redisson renews locks for nobody, where a thread was interrupted while it took them. Where none
// was, it renews none.
func TestInterrupted(t *testing.T) {
	javatest.Need(t)
	need.Program(t, "javac", "to compile Interrupted.java")
	server := redistest.Real(t)
	where, _ := java.Found()
	for _, tt := range []struct {
		how  string
		left bool
	}{{"undisturbed", false}, {"interrupted", true}} {
		t.Run(tt.how, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "java", "-cp", maven.ClassPath(where, "redisson"), "testdata/interrupted/Interrupted.java",
				server.Addr, "300", tt.how).CombinedOutput()
			said := regexp.MustCompile(`(\d+) taken, .*\n`).FindSubmatch(out)
			if err != nil || said == nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", said[0])
			if taken, err := strconv.Atoi(string(said[1])); err != nil || (taken > 0) != tt.left {
				t.Errorf("it says %q (%v), want locks that are taken: %t", said[0], err, tt.left)
			}
		})
	}
}

package java_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// TestFenced: Fenced.java compiles with the JDK alone, and a storage that checks tokens by
// fencehttp knows its headers. What is no token, or cannot be sent, is refused before.
func TestFenced(t *testing.T) {
	need.Programs(t, "to compile and run Fenced.java", "javac", "java")
	classes := t.TempDir()
	compile := exec.Command("javac", "-d", classes, "agent/Fenced.java", "testdata/send/Send.java")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compile.Args, err, out)
	}
	scope := func(*http.Request) string { return "/lock" }
	storage := httptest.NewServer(fencehttp.Middleware(new(fence.Register), fencehttp.Options{Scope: scope})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})))
	defer storage.Close()
	for _, tt := range []struct{ lock, token, want string }{
		{"/lock", "2", "200"},
		{"/lock", "1", "412"},
		{"/lock", "9223372036854775807", "200"},
		{"/other", "3", "400"}, // the server knows which lock it is
		{"/lock", "0", "a token is 1 or more, and not 0: this lock gave none"},
		{"", "1", `the scope is the lock's name, in ASCII, and not ""`},
		{"/schlo%C3%9F", "1", `the scope is the lock's name, in ASCII, and not "/schloß"`},
	} {
		t.Run(fmt.Sprint(tt.lock, " ", tt.token), func(t *testing.T) {
			out, err := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", classes, "Send", storage.URL, tt.lock, tt.token).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
				t.Errorf("it says %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

const (
	clients = "../examples/client/"
	servers = "../examples/lockservice/"
)

// inOther are the clients in other languages, and what runs them.
func inOther(t *testing.T) map[string]string {
	t.Helper()
	need.Files(t, clients)
	return map[string]string{
		"python": need.Program(t, "python3", "to run a client in Python") + " " + clients + "client.py",
		"node":   need.Program(t, "node", "to run a client in JavaScript") + " " + clients + "client.js",
	}
}

// TestClientsInOtherLanguages: the main story with them has the verdicts that it has with
// gcsim's own clients.
func TestClientsInOtherLanguages(t *testing.T) {
	t.Parallel()
	inOther(t)
	w := newWorld(t)
	story := filepath.Join(t.TempDir(), "gc-pause.yaml")
	text := strings.ReplaceAll(read(t, clients+"gc-pause.yaml"), "examples/client/", clients)
	if err := os.WriteFile(story, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.start("gcsim", "run", "--redis", "embedded", story)
	p.want(0)
	p.says("python", "node", "unfenced", "safe, as expected", "corrupted, as expected of the control")
}

// TestAgentCheck: they obey the protocol, and a mistake in them is found.
func TestAgentCheck(t *testing.T) {
	t.Parallel()
	for name, command := range inOther(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			args := []string{"agent-check", "--service", "redis", "--set", "by=fenced"}
			p := w.start("gcsim", append(args, strings.Fields(command)...)...)
			p.want(0)
			p.says("holds      SaysReady", "holds      LateWriteIsSent", "agent-check: 18 held, 0 failed, 6 left out, 0 not judged")

			words := strings.Fields(command)
			careless := filepath.Join(t.TempDir(), filepath.Base(words[1]))
			const shown = `"X-Request-Id"`
			text := read(t, words[1])
			if !strings.Contains(text, shown) {
				t.Fatalf("%s does not show %s", words[1], shown)
			}
			if err := os.WriteFile(careless, []byte(strings.Replace(text, shown, `"X-Request"`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			p = w.start("gcsim", append(args, "--timeout", "5s", "--check", "RequestIsSent", words[0], careless)...)
			p.want(1)
			p.says("FAILS      RequestIsSent", "the end of the dialogue:", "requestissent > write key0=1", `"requestissent-1"`)
		})
	}
	w := newWorld(t)
	p := w.start("gcsim", "agent-check", "--service", "custom", "--world", "command=python3 {addr}", "no-such-program")
	p.want(2)
	p.says("no-such-program")
}

// TestAgentCheckAtALockServiceOfOnesOwn: the second client is the user's, too, and a mistake is
// found.
func TestAgentCheckAtALockServiceOfOnesOwn(t *testing.T) {
	t.Parallel()
	python := inOther(t)["python"]
	need.Files(t, servers)
	w := newWorld(t)
	server := "command=" + strings.Fields(python)[0] + " " + servers + "server.py --listen {addr}"
	p := w.start("gcsim", append([]string{"agent-check", "--service", "custom", "--world", server}, strings.Fields(python)...)...)
	p.want(0)
	p.says("holds      LateWriteIsSent", "holds      LossIsTold", "agent-check: 18 held, 0 failed, 6 left out, 0 not judged")

	careless := filepath.Join(t.TempDir(), "server.py")
	text, old := read(t, servers+"server.py"), `"granted", lock, owner, token=str(STATE["token"])`
	if !strings.Contains(text, old) {
		t.Fatalf("server.py does not have %s", old)
	}
	if err := os.WriteFile(careless, []byte(strings.Replace(text, old, `"granted", lock, owner, token=str(STATE["token"] + 1)`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p = w.start("gcsim", append([]string{"agent-check", "--service", "custom", "--world", strings.Replace(server, servers+"server.py", careless, 1), "--check", "TenureIsTheServices"}, strings.Fields(python)...)...)
	p.want(1)
	p.says("FAILS      TenureIsTheServices", "it was told the token 1 of a grant with the token 2, want that of the grant")
	for want, args := range map[string][]string{
		"a lock service of your own needs a command": nil,
		"want NAME=VALUE":          {"--world", "command"},
		"there is no such setting": {"--world", "nodes=3"},
	} {
		p = w.start("gcsim", append(append([]string{"agent-check", "--service", "custom"}, args...), strings.Fields(python)...)...)
		p.want(2)
		p.says(want)
	}
}

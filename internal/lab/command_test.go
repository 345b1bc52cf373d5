package lab_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// commanded is a story whose client1 is a command.
func commanded(t *testing.T, command, steps string) string {
	t.Helper()
	return fmt.Sprintf(`title: t
clients:
  client1: {lock: /lock, command: %s}
  client2: {lock: /lock}
steps: [{%s}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`, command, strings.ReplaceAll(steps, ", ", "}, {"))
}

// TestCommands: a client that is a program of the user's is started, stopped, cut off, killed and
// started again like the lab's own, with all that it has started.
func TestCommands(t *testing.T) {
	t.Parallel()
	shell := need.Program(t, "sh", "to start a client that starts another")
	for name, command := range map[string]string{
		"a program":          fmt.Sprintf("[%q, client, agent]", os.Args[0]),
		"a program and more": fmt.Sprintf(`[%q, -c, '"$0" client agent "$@"; exit $?', %q]`, shell, os.Args[0]),
	} {
		t.Run(name, func(t *testing.T) {
			events := played(t, commanded(t, command, "client1: lock, client1: begin write k=1, gcsim: pause client1, etcd: await expiry of client1, client2: lock, "+
				"client2: write k=2, gcsim: resume client1, client1: finish, gcsim: partition client1 from etcd, client2: unlock, client1: lock within 300ms, gcsim: heal client1, "+
				"gcsim: kill client1, gcsim: restart client1, client1: lock, client1: write k=3"))
			wantAll(t, sketch(events), `client1 pause SIGSTOP
etcd ended expired client1
client2 invoke lock
`, `client1 resume SIGSTOP
client1 invoke write k=1
storage refused write stale k=1
client1 fail write stale k=1
`, "client1 network partition", "client1 fail lock", "client1 kill", "client1 restart", "storage applied write k=3\nclient1 ok write k=3\n", "final k=3")
		})
	}
}

// TestBadCommands: the error of a run names the client, its command, and what it did.
func TestBadCommands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, steps string
		want           []string
	}{
		"no such program": {"[no-such-program, x]", "client1: lock", []string{"test.yaml:3:35: the command of client1 cannot be run", "no-such-program"}},
		"no client":       {"[echo, hello]", "client1: lock", []string{"client1 (echo hello): invalid character", `it says "hello --name client1`}},
		"one that ends":   {"[false]", "client1: lock", []string{"client1 (false) ended (exit status 1)"}},
		"no such step":    {fmt.Sprintf("[env, GODEBUG=, %q, client, agent]", os.Args[0]), "gcsim: load client1", []string{"client1 says: ", "gcstoptheworld"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, commanded(t, tt.command, tt.steps))
			_, err := run(t, t.Context(), s, &s.Variants[0], nil)
			if err == nil {
				t.Fatal("it can be run")
			}
			wantAll(t, err.Error(), tt.want...)
		})
	}
}

package clientcmd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// locked is a "client exec" process whose command has started.
type locked struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// startExec runs a shell script that says "started" first.
func startExec(t *testing.T, w *clienttest.World, script string, flags ...string) *locked {
	t.Helper()
	sh := need.Program(t, "sh", "to run a script under a lock")
	args := w.Args(append(append([]string{"exec", "--lock", "/x"}, flags...), "--", sh, "-c", script)...)
	p := &locked{Cmd: clienttest.Process(t, "client", args...)}
	p.Stderr = &p.stderr
	p.WaitDelay = time.Second
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.wantLine(t, "started")
	return p
}

func (p *locked) wantLine(t *testing.T, want string) {
	t.Helper()
	if line, err := p.stdout.ReadString('\n'); strings.TrimSpace(line) != want {
		t.Fatalf("the command says %q (%v), want %q", line, err, want)
	}
}

// wantEnd returns what the process said on standard error.
func (p *locked) wantEnd(t *testing.T, code int) string {
	t.Helper()
	rest, _ := io.ReadAll(p.stdout)
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		t.Errorf("status %d, want %d; it says\n%s%s", got, code, rest, p.stderr.String())
	}
	return p.stderr.String()
}

func TestExec(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	p := startExec(t, w, `echo started; echo $FENCING_TOKEN $FENCING_SCOPE; cat; exit 3`)
	defer p.stdin.Close()
	key := w.Queue(t, "/x", 1)[0]
	got, err := w.Etcd.Get(clienttest.Within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	p.wantLine(t, fmt.Sprintf("%d /x", got.Kvs[0].CreateRevision))
	if _, err := io.WriteString(p.stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	p.wantLine(t, "hello")
	p.stdin.Close()
	if said := p.wantEnd(t, 3); said != "" {
		t.Errorf("it says %s", said)
	}
	w.WantFree(t, "/x")
}

// TestExecShowsWhatIsChosen: the command gets the number that --token names.
func TestExecShowsWhatIsChosen(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	p := startExec(t, w, `echo started; echo $FENCING_TOKEN`, "--token", "max")
	p.wantLine(t, strconv.Itoa(math.MaxInt64))
	p.wantEnd(t, 0)
}

func TestExecStatus(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh", "to end with any status")
	w := clienttest.New(t)
	notExecutable := filepath.Join(t.TempDir(), "script")
	noInterpreter := filepath.Join(t.TempDir(), "script")
	for name, mode := range map[string]os.FileMode{notExecutable: 0o600, noInterpreter: 0o700} {
		if err := os.WriteFile(name, []byte("#!/no/such/interpreter\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code    int
		command []string
	}{
		{0, []string{"true"}},
		{1, []string{"false"}},
		{128 + 9, []string{"sh", "-c", "kill -9 $$"}},
		{128 + 15, []string{"sh", "-c", "kill $$"}},
		{7, []string{"sh", "-c", "exit $#", "--", "--lock", "/y", "--grace", "1s", "-h", "--", "--"}},
		{126, []string{notExecutable}},
		{127, []string{noInterpreter}},
		{127, []string{"no-such-command"}},
		{127, []string{"./no-such-command"}},
	} {
		code, _, stderr := status(t, w.Args(append([]string{"exec", "--lock", "/x", "--"}, c.command...)...)...)
		if code != c.code || (stderr != "") != (code == 126 || code == 127) {
			t.Errorf("%q: status %d, want %d; it says %q", c.command, code, c.code, stderr)
		}
		w.WantFree(t, "/x")
	}
	// Also without "--", all that follows the command is its.
	if code, _, stderr := status(t, w.Args("exec", "--lock", "/x", "sh", "-c", "exit $((40+$#))", "sh", "--lock", "/y")...); code != 42 {
		t.Errorf("status %d, want 42; it says %s", code, stderr)
	}
	// Known without a lock service, which could let it wait for long.
	dead := proctest.Nobody(t)
	if code, _, stderr := status(t, "exec", "--endpoints", dead, "--lock", "/x", "no-such-command"); code != 127 {
		t.Errorf("without etcd: status %d, want 127; it says %s", code, stderr)
	}
	code, _, stderr := status(t, "exec", "--endpoints", dead, "--connect-timeout", "300ms", "--lock", "/x", "true")
	if code != 125 || !strings.Contains(stderr, "etcd at "+dead) {
		t.Errorf("without etcd: status %d, want 125; it says %s", code, stderr)
	}
}

func TestExecWithoutAName(t *testing.T) {
	t.Parallel()
	if code, _, stderr := status(t, "exec", "--lock", "", "--", "true"); code != 2 || !strings.Contains(stderr, "--lock NAME") {
		t.Errorf("status %d, want 2; it says %s", code, stderr)
	}
}

// TestExecSilentEtcd: without flags, who meets a server that takes connections
// and says nothing is told so within 5 s.
func TestExecSilentEtcd(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// 5s would leave no time for anything else.
	if limit := clientcmd.Command(all.List).PersistentFlags().Lookup("connect-timeout").DefValue; limit != "4s" {
		t.Errorf("--connect-timeout is %s, want 4s", limit)
	}
	began := time.Now()
	code, _, stderr := status(t, "exec", "--endpoints", silent.Addr().String(), "--lock", "/x", "true")
	if took := time.Since(began); took > clienttest.Patience {
		t.Errorf("it took %v, want 4s and what a busy machine takes", took)
	}
	if code != 125 || !strings.Contains(stderr, "etcd at "+silent.Addr().String()) {
		t.Errorf("status %d, want 125; it says %s", code, stderr)
	}
}

func TestExecEndsWhatLostTheLock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		flags        []string
		code         int
	}{
		{"ended by SIGTERM", `echo started; exec sleep 1000`, nil, 128 + 15},
		{"with its group", `sleep 1000 & echo started; wait; wait`, nil, 128 + 15},
		{"ends well", `trap 'exit 0' TERM; echo started; while :; do sleep 0.05; done`, nil, 75},
		{"ends with a status", `trap 'exit 4' TERM; echo started; while :; do sleep 0.05; done`, nil, 4},
		{"does not listen", `trap '' TERM; echo started; while :; do sleep 0.05; done`, []string{"--grace", "200ms"}, 128 + 9},
		{"stopped", `trap 'exit 0' TERM; (kill -STOP $$; echo started) & while :; do sleep 0.05; done`, nil, 75},
		{"leaves one who does not listen", `(trap '' TERM; echo started; exec sleep 10) & wait`, []string{"--grace", "200ms"}, 128 + 15},
		{"leaves one who takes its time", `(trap 'sleep 0.2; exit' TERM; echo started; while :; do sleep 0.05; done) & wait`, nil, 128 + 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			p := startExec(t, w, c.script, c.flags...)
			w.Revoke(t, w.Queue(t, "/x", 1)[0])
			if said := p.wantEnd(t, c.code); !strings.Contains(said, "the lock is lost") || !strings.Contains(said, "tenure is over") {
				t.Errorf("it says\n%s\nwant that the lock is lost", said)
			}
			if strings.Contains(c.name, "listen") != strings.Contains(p.stderr.String(), "SIGKILL") {
				t.Errorf("it says\n%s", p.stderr.String())
			}
		})
	}
}

func TestExecPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		script string
		code   int
	}{
		{syscall.SIGINT, `trap 'exit 5' INT; echo started; while :; do sleep 0.05; done`, 5},
		{syscall.SIGTERM, `echo started; exec sleep 1000`, 128 + 15},
		// The shell would say that its sleep was ended.
		{syscall.SIGHUP, `exec 2>/dev/null; trap 'exit 6' HUP; echo started; while :; do sleep 0.05; done`, 6},
		{syscall.SIGQUIT, `exec 2>/dev/null; trap 'exit 7' QUIT; echo started; while :; do sleep 0.05; done`, 7},
	} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			w := clienttest.New(t)
			p := startExec(t, w, c.script)
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if said := p.wantEnd(t, c.code); said != "" {
				t.Errorf("it says %s", said)
			}
			w.WantFree(t, "/x")
		})
	}
}

// TestExecOutlivesASignal: a command that takes no notice keeps its lock, and
// is still ended when it loses it.
func TestExecOutlivesASignal(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	p := startExec(t, w, `trap 'echo no' INT; echo started; while :; do sleep 0.05; done`)
	for range 3 {
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.wantLine(t, "no")
	}
	w.Revoke(t, w.Queue(t, "/x", 1)[0])
	p.wantEnd(t, 128+15)
}

func TestExecGivesUpWaiting(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	w.Take(t, "/x")
	cmd := clienttest.Process(t, "client", w.Args("exec", "--lock", "/x", "--", "echo", "ran")...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Queue(t, "/x", 2)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 125 || strings.Contains(said.String(), "ran") {
		t.Errorf("status %d, want 125; it says %s", code, said.String())
	}
	w.Queue(t, "/x", 1)
}

func TestExecTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	p := startExec(t, w, `echo started; exec sleep 1000`)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // the pipe ends with the last who can write to it
		defer close(ended)
		_, _ = io.Copy(io.Discard, p.stdout)
	}()
	select {
	case <-ended:
	case <-time.After(clienttest.Patience):
		t.Error("the command outlives the client")
	}
	_ = p.Wait()
}

// TestExecLease: a command has time to go on after a moment in which nobody renewed its
// lock; other clients lose theirs soon, for the lab.
func TestExecLease(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	for ttl, flags := range map[int64][]string{10: nil, 7: {"--ttl", "7s"}} {
		args := append(append([]string{"exec", "--lock", "/lease"}, w.Args(flags...)...), "--", "cat")
		cmd := clienttest.Process(t, "client", args...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lease := clienttest.LeaseOf(t, w.Queue(t, "/lease", 1)[0])
		if got, err := w.Etcd.TimeToLive(clienttest.Within(t), lease); err != nil || got.GrantedTTL != ttl {
			t.Errorf("%v: its lease is %+v, %v, want %d s", flags, got, err, ttl)
		}
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

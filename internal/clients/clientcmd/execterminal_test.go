package clientcmd_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// terminal is one with a shell's script on it.
type terminal struct {
	*os.File // the user's side
	*exec.Cmd
	shown []byte
}

// onTerminal runs a script in which $client is "client exec" with flags, and $agent
// "client agent".
func onTerminal(t *testing.T, w *clienttest.World, script string, flags ...string) *terminal {
	t.Helper()
	sh := need.Program(t, "sh", "to have a shell on a terminal")
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Log(err)
		need.Missing(t, "a pseudo-terminal", "to type on", "mount -t devpts devpts /dev/pts -o ptmxmode=666, and ln -s pts/ptmx /dev/ptmx")
	}
	ptm := os.NewFile(uintptr(fd), "/dev/ptmx") // non-blocking, for a deadline
	t.Cleanup(func() { ptm.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	cmd := clienttest.Process(t, "client")
	cmd.Path = sh
	args := strings.Join(w.Args(flags...), " ")
	cmd.Args = []string{"sh", "-c", script}
	cmd.Env = append(os.Environ(), "client="+os.Args[0]+" client exec --lock /x "+args+" --", "agent="+os.Args[0]+" client agent "+args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &terminal{File: ptm, Cmd: cmd}
}

// wantShown reads on until the terminal shows want, and returns what it shows
// before that.
func (p *terminal) wantShown(t *testing.T, want string) (before string) {
	t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(clienttest.Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		if i := bytes.Index(p.shown, []byte(want)); i >= 0 {
			before, p.shown = string(p.shown[:i]), p.shown[i+len(want):]
			return before
		}
		buf := make([]byte, 1024)
		n, err := p.Read(buf) // it ends with an error when nobody has the terminal open
		p.shown = append(p.shown, buf[:n]...)
		if err != nil {
			t.Fatalf("the terminal shows\n%s\nand %v, want %q in it", p.shown, err, want)
		}
	}
}

func (p *terminal) enter(t *testing.T, s string) {
	t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		t.Fatal(err)
	}
}

// TestExecOnATerminal has a shell run exec twice, with commands that read the
// terminal, and then read it itself.
func TestExecOnATerminal(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, clienttest.New(t), `$client sh -c 'read a; echo first got $a'; $client sh -c 'read a; echo second got $a'; read b; echo shell got $b`)
	p.enter(t, "one\ntwo\nthree\n")
	for _, want := range []string{"first got one", "second got two", "shell got three"} {
		p.wantShown(t, want)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// TestExecIsStoppedWithItsCommand: Ctrl-Z gives the terminal back to a shell.
func TestExecIsStoppedWithItsCommand(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, clienttest.New(t), `set -m; $client sh -c 'echo ready; read a; echo it got $a'; echo shell again; fg; echo status $?`, "--ttl", "60s")
	p.wantShown(t, "ready")
	p.enter(t, "\x1a")
	p.wantShown(t, "shell again")
	p.enter(t, "one\n")
	p.wantShown(t, "it got one")
	p.wantShown(t, "status 0")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// TestExecOnATerminalSignals: the command gets the terminal's signals from the
// terminal and only once, and the others from exec.
func TestExecOnATerminalSignals(t *testing.T) {
	t.Parallel()
	// The outer shell leaves the signals to the others; a trap, other than an
	// ignored signal, is not passed on to them.
	p := onTerminal(t, clienttest.New(t), `trap : INT QUIT; $client sh -c '
		trap "all=\$all.i; echo int" INT; trap "all=\$all.q; echo quit" QUIT
		trap "echo hup" HUP; trap "echo term after \$all; exit 6" TERM
		echo ready $PPID; while :; do sleep 0.05; done'; echo status $?`)
	p.wantShown(t, "ready ")
	client, err := strconv.Atoi(p.wantShown(t, "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.enter(t, "\x03")
		p.wantShown(t, "int\r\n")
		p.enter(t, "\x1c")
		p.wantShown(t, "quit\r\n")
	}
	if err := unix.Kill(client, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.wantShown(t, "hup\r\n")
	if err := unix.Kill(client, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wantShown(t, "term after .i.q.i.q.i.q\r\n")
	p.wantShown(t, "status 6")
	_ = p.Wait()
}

// TestExecOnATerminalLoses: only the command is ended, not all that share its group.
func TestExecOnATerminalLoses(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	p := onTerminal(t, w, `$client sh -c 'echo ready; exec sleep 1000'; echo status $?`)
	p.wantShown(t, "ready")
	w.Revoke(t, w.Queue(t, "/x", 1)[0])
	p.wantShown(t, "the lock is lost")
	p.wantShown(t, "status 143")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

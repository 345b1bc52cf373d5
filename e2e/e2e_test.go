// Package e2e drives the built binaries as a user does: processes, terminals, signals,
// and what they leave behind.
package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// bin is where TestMain puts the binaries. Tests that start themselves again, in a
// network of their own, are told by binEnv where they are.
var bin string

const binEnv = "FENCELAB_E2E_BIN"

// commands are the packages of which the binaries are built.
const commands = "../cmd/..."

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == diskArg {
		holdDisk(os.Args[2], os.Args[3])
	}
	// Children inherit that a hangup is ignored, as it is under nohup, and some are
	// to die of one.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	if bin = os.Getenv(binEnv); bin != "" {
		os.Exit(m.Run())
	}
	proctest.SideBySide(5)
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "fencelab-e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(bin)
		// Nobody asks these binaries for their version: git is not needed.
		build := exec.Command("go", "build", "-buildvcs=false", "-o", bin+"/", commands)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "go build", commands+":", err)
			return 1
		}
		return m.Run()
	}())
}

// patience is how long anything may take that a test waits for. It is no
// measure of speed.
const patience = 5 * time.Minute

// process is a running binary.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu    sync.Mutex
	out   bytes.Buffer // standard output and standard error
	wrote chan struct{}
	done  chan struct{}
}

// world is a place for processes to run in, which notices what they leave.
type world struct {
	t   *testing.T
	tmp string
	env []string
}

// sources of the binaries are looked at once.
var sources sync.Once

// newWorld makes a directory for temporary files and a mark in the environment
// that all processes inherit. When the test ends, no file may be in the one and
// no process may have the other.
func newWorld(t *testing.T) *world {
	t.Helper()
	sources.Do(func() {
		for _, root := range []string{"../cmd", "../docs/course", "../internal", "../pkg", "../scenarios"} {
			need.Files(t, root)
		}
	})
	tmp, err := os.MkdirTemp("", "fencelab-e2e-tmp-")
	if err == nil {
		err = os.Chmod(tmp, 0o711) // root's PostgreSQL is nobody's
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, tmp: tmp, env: []string{"TMPDIR=" + tmp, "FENCELAB_E2E=" + filepath.Base(tmp), "GITHUB_STEP_SUMMARY="}}
	t.Cleanup(func() {
		w.awaitNothingLeft()
		os.RemoveAll(tmp)
	})
	return w
}

// processes are all that have the world's mark.
func (w *world) processes() (pids []int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		b, err := os.ReadFile(name)
		if err == nil && bytes.Contains(b, []byte(w.env[1])) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// find is the process that runs a command, by the beginning of its arguments.
func (w *world) find(args string) int {
	w.t.Helper()
	for _, pid := range w.processes() {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		_, rest, _ := strings.Cut(strings.ReplaceAll(string(b), "\x00", " "), " ")
		if strings.HasPrefix(rest, args) {
			return pid
		}
	}
	w.t.Fatalf("no process runs %q", args)
	return 0
}

// awaitNothingLeft looks again and again: after a kill -9 the kernel needs a
// moment.
func (w *world) awaitNothingLeft() {
	w.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := w.processes()
		files, _ := os.ReadDir(w.tmp)
		if len(pids) == 0 && len(files) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			for _, pid := range pids {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				w.t.Errorf("process %d is left: %q", pid, b)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			for _, f := range files {
				w.t.Errorf("file is left: %s", f.Name())
			}
			return
		}
	}
}

// start starts one of the binaries, or, with a path, another program.
func (w *world) start(name string, args ...string) *process {
	w.t.Helper()
	p := w.prepare(name, args...)
	if err := p.start(); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// prepare makes a process whose command may be changed before it starts.
func (w *world) prepare(name string, args ...string) *process {
	w.t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join(bin, name)
	}
	p := &process{t: w.t, cmd: exec.Command(name, args...), wrote: make(chan struct{}, 1), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), w.env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (p *process) start() error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait() // its status is asked for later
		close(p.done)
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return nil
}

// Write takes in output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.wrote <- struct{}{}:
	default:
	}
	return p.out.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// await waits until the output has the text, and returns the line it is in.
func (p *process) await(text string) string {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		lines := bufio.NewScanner(strings.NewReader(p.output()))
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		select {
		case <-p.wrote:
		case <-p.done:
			if !strings.Contains(p.output(), text) {
				p.t.Fatalf("%v ended without saying %q; it said:\n%s", p.cmd.Args, text, p.output())
			}
		case <-deadline:
			p.t.Fatalf("%v did not say %q; it said:\n%s", p.cmd.Args, text, p.output())
		}
	}
}

// end waits for the end and returns the exit status, -1 for a signal.
func (p *process) end() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%v does not end; it said:\n%s", p.cmd.Args, p.output())
		return 0
	}
}

// want ends the test unless the process ends with a status.
func (p *process) want(status int) {
	p.t.Helper()
	if got := p.end(); got != status {
		p.t.Fatalf("%v: exit status %d, want %d; it said:\n%s", p.cmd.Args, got, status, p.output())
	}
}

// says fails the test for each text that is not in the output.
func (p *process) says(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.output(), text) {
			p.t.Errorf("%v does not say %q; it said:\n%s", p.cmd.Args, text, p.output())
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

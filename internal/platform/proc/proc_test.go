package proc_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is its own janitor, child and parent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case proc.JanitorArg:
			if err := proc.Janitor().RunE(nil, os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "echo": // says each line again, until there is none
			in := bufio.NewScanner(os.Stdin)
			for in.Scan() {
				fmt.Println(in.Text())
			}
			fmt.Fprintln(os.Stderr, "no more lines")
			os.Exit(3)
		case "exec": // becomes another program, on a thread that is not the first
			runtime.LockOSThread()
			sleep, err := exec.LookPath("sleep")
			if err != nil {
				panic(err)
			}
			failed := make(chan error)
			go func() { failed <- proc.Exec([]string{sleep, "3600"}) }()
			panic(<-failed)
		case "parent": // starts a child, says its id and directory, and hangs
			g, err := proc.NewGroup(os.Args[0])
			if err != nil {
				panic(err)
			}
			role := "echo"
			if os.Args[2] == "exec" {
				role = "exec"
			}
			p, err := g.Start("child", nil, role)
			if err != nil {
				panic(err)
			}
			if os.Args[2] == "paused" {
				if err := p.Pause(); err != nil {
					panic(err)
				}
			}
			if err := os.WriteFile(filepath.Join(g.Dir, "file"), nil, 0o600); err != nil {
				panic(err)
			}
			fmt.Println(p.PID(), g.Dir)
			select {}
		}
	}
	os.Exit(m.Run())
}

func newGroup(t *testing.T) *proc.Group {
	t.Setenv("TMPDIR", t.TempDir())
	g, err := proc.NewGroup(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func state(t *testing.T, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return after[:1]
}

func TestPauseAndResume(t *testing.T) {
	g := newGroup(t)
	defer g.Close()
	p, err := g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
		if s := state(t, p.PID()); s != "T" {
			t.Fatalf("after Pause its state is %s, want T (stopped)", s)
		}
		fmt.Fprintln(p.Stdin, "while it stood still")
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(p.Stdout).ReadString('\n')
		if err != nil || line != "while it stood still\n" {
			t.Fatalf("after Resume it said %q, %v", line, err)
		}
	}
}

// TestCommand: what a command of the user's has started stands still, goes on and ends with it.
func TestCommand(t *testing.T) {
	shell := need.Program(t, "sh", "to start a process that starts another")
	g := newGroup(t)
	defer g.Close()
	start := func(script string) (p *proc.Process, child int) {
		t.Helper()
		p, err := g.StartCommand("child", nil, []string{shell, "-c"}, script)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscan(p.Stdout, &child); err != nil {
			t.Fatal(err)
		}
		return p, child
	}
	p, child := start("sleep 3600 & echo $!; wait")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if s := state(t, child); s != "T" {
		t.Errorf("after Pause the state of its child is %s, want T (stopped)", s)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if s := state(t, child); s == "T" {
		t.Error("after Resume its child stands still")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, child, filepath.Join(g.Dir, "none"))

	p, child = start("sleep 3600 & echo $!; echo last words >&2; exit 3")
	<-p.Done()
	awaitGone(t, child, filepath.Join(g.Dir, "none"))
	if err := p.Ended(); !strings.Contains(err.Error(), "child ("+shell+" -c) ended (exit status 3)") || !strings.Contains(err.Error(), "last words") {
		t.Errorf("got %v, want the command, its status and its last words", err)
	}
	if err := p.Signal(syscall.SIGTERM); err == nil {
		t.Error("a process that has ended was sent a signal")
	}
}

func TestEndIsTold(t *testing.T) {
	g := newGroup(t)
	defer g.Close()
	p, err := g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	p.Stdin.Close()
	<-p.Done()
	if err := p.Ended(); err == nil || !strings.Contains(err.Error(), "child ended (exit status 3)") || !strings.Contains(err.Error(), "no more lines") {
		t.Errorf("got %v, want status and last words", err)
	}
	if err := p.Pause(); err == nil {
		t.Error("a process that has ended was paused")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	g := newGroup(t)
	var pids []int
	for i := range 3 {
		p, err := g.Start("child", nil, "echo")
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.PID())
		if i == 1 {
			if err := p.Pause(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if s := state(t, pid); s != "gone" {
			t.Errorf("process %d is still there, in state %s", pid, s)
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// TestKilledParentLeavesNothing kills the parent as nothing can be done about,
// with a child that runs, with one that stands still, and with one that has become another
// program.
func TestKilledParentLeavesNothing(t *testing.T) {
	for _, mode := range []string{"running", "paused", "exec"} {
		t.Run(mode, func(t *testing.T) {
			tmp := t.TempDir()
			cmd := exec.Command(os.Args[0], "parent", mode)
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			var dir string
			if _, err := fmt.Fscan(out, &pid, &dir); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
				t.Fatal(err)
			}
			for mode == "exec" && program(pid) != "sleep" {
				time.Sleep(time.Millisecond)
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			awaitGone(t, pid, dir)
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
		})
	}
}

// program is the name of the one that a process runs.
func program(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// awaitGone waits until process and directory are gone. They are nobody's here
// to wait for, so it looks again and again.
func awaitGone(t *testing.T, pid int, dir string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(dir)
		if s := state(t, pid); (s == "gone" || s == "Z") && os.IsNotExist(err) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("long after the parent was killed: child %s, directory %v", state(t, pid), err)
		case <-tick.C:
		}
	}
}

// TestNothingIsMadeBeforeTheJanitor: a kill -9 just before it is there must leave
// nothing, so a directory for temporary files that is missing is not even noticed.
func TestNothingIsMadeBeforeTheJanitor(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"sh", "rm"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("no program"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := proc.NewGroup(os.Args[0])
	if err == nil || !strings.Contains(err.Error(), "start the janitor") {
		t.Errorf("got %v, want that there is no janitor", err)
	}
}

// TestAfter: what is to be done after the processes finds none of them, and is done by
// the time that Close returns.
func TestAfter(t *testing.T) {
	g := newGroup(t)
	p, err := g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	was := "not asked"
	g.After(func() { was = state(t, p.PID()) })
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if was != "gone" {
		t.Errorf("the process was %q, want gone", was)
	}
}

// TestLane: what a process says is shown as it is said, between its beginning and its end.
func TestLane(t *testing.T) {
	g := newGroup(t)
	defer g.Close()
	r, w := io.Pipe()
	g.Lane = func(process string) io.Writer {
		if process != "child" {
			t.Errorf("a lane of %s", process)
		}
		return w
	}
	lane := bufio.NewReader(r)
	want := func(want string) {
		t.Helper()
		if got, err := lane.ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("the lane shows %q, %v, want %q", got, err, want)
		}
	}
	started := make(chan *proc.Process)
	go func() {
		p, err := g.Start("child", nil, "echo")
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	first, err := lane.ReadString('\n')
	p := <-started
	if err != nil || first != fmt.Sprintf("child is process %d\n", p.PID()) {
		t.Fatalf("the lane begins with %q, %v", first, err)
	}
	p.Stdin.Close()
	want("no more lines")
	want("child has ended (exit status 3)")
	if err := p.Ended(); !strings.Contains(err.Error(), "no more lines") {
		t.Errorf("got %v, want the last words as ever", err)
	}
}

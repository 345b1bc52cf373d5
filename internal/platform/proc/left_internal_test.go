package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// janitorLooks makes a group, and has its janitor be asked often for whom it waits.
func janitorLooks(t *testing.T) *Group {
	before := leftDelay
	leftDelay = 20 * time.Millisecond
	t.Cleanup(func() { leftDelay = before })
	t.Setenv("TMPDIR", t.TempDir())
	g, err := NewGroup(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSlowJanitor: a janitor that gets no processor time is waited for, and nobody is accused
// of having left a process group.
func TestSlowJanitor(t *testing.T) {
	g := janitorLooks(t)
	if err := g.janitor.Process.Signal(kernel.Stop); err != nil {
		t.Fatal(err)
	}
	for still := false; !still; {
		var err error
		if still, err = stopped(g.janitor.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	looks := time.AfterFunc(10*leftDelay, func() { _ = g.janitor.Process.Signal(kernel.Continue) })
	defer looks.Stop()
	if err := g.Close(); err != nil {
		t.Errorf("the janitor was slow, and Close says: %v", err)
	}
}

// TestLeftGroup: the process that has left the group of its command is named.
func TestLeftGroup(t *testing.T) {
	need.Programs(t, "to leave a process group", "setsid", "sh", "sleep")
	g := janitorLooks(t)
	dir := t.TempDir()
	pid, script := filepath.Join(dir, "pid"), filepath.Join(dir, "script")
	leaves := "setsid sh -c 'echo $$ >" + pid + ".new; mv " + pid + ".new " + pid + "; exec sleep 3600' & wait"
	err := os.WriteFile(script, []byte(leaves), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = g.StartLine("command", "sh "+script); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for deadline := time.Now().Add(time.Minute); len(text) == 0; text, err = os.ReadFile(pid) {
		if time.Now().After(deadline) {
			t.Fatal("the process has not said its id within a minute: ", err)
		}
		time.Sleep(time.Millisecond)
	}
	id := strings.TrimSpace(string(text))
	err = g.Close()
	if number, wrong := strconv.Atoi(id); wrong == nil {
		_ = syscall.Kill(number, syscall.SIGKILL)
	}
	if err == nil || !strings.Contains(err.Error(), "look for process "+id+" ") {
		t.Errorf("got %v, want that process %s still runs", err, id)
	}
}

// TestJanitorIsNotGo: a program in Go ends where it gets no further thread, as the process does
// after which the janitor cleans up.
func TestJanitorIsNotGo(t *testing.T) {
	need.Programs(t, "to be the janitor", "sh", "rm")
	g := janitorLooks(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", g.janitor.Process.Pid)); err != nil || program == own {
		t.Errorf("the janitor is %s, %v", program, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

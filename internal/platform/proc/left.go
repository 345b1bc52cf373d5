package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leftDelay is for how long the janitor waits before it is asked for whom. It is a variable for tests.
var leftDelay = 10 * time.Second

// slowJanitor is for how long the janitor may take where nobody is seen for whom it waits.
const slowJanitor = 2 * time.Minute

// awaitJanitor returns when the janitor has ended, and its error. A process that has left the
// group of the child that started it is not known here, and still runs; the janitor would wait
// for its end. That the janitor takes long says nothing of such a process: on a busy machine
// the janitor itself may not run. So the process is looked for, and named.
func (g *Group) awaitJanitor() error {
	ended := make(chan error, 1)
	go func() { ended <- g.janitor.Wait() }()
	before := g.holders()
	looks := time.NewTicker(leftDelay)
	defer looks.Stop()
	for deadline := time.After(slowJanitor); ; {
		select {
		case err := <-ended:
			return g.janitorEnded(err)
		case <-looks.C:
			now := g.holders()
			// One that is being started by another group has the pipe for a moment.
			stayed := slices.DeleteFunc(now, func(pid int) bool { return !slices.Contains(before, pid) })
			if before = now; len(stayed) == 0 {
				continue
			}
			g.endJanitor(ended)
			return fmt.Errorf("a process still runs that has left the process group of the command that started it: look for process %s, and end it; a command has to stay in the foreground", shownPIDs(stayed))
		case <-deadline:
			g.endJanitor(ended)
			return fmt.Errorf("the janitor, which removes %s, has not ended within %v, and no process is seen for which it waits", g.Dir, slowJanitor)
		}
	}
}

// janitorEnded says how the janitor ended, where it failed.
func (g *Group) janitorEnded(err error) error {
	if err == nil {
		return nil
	}
	return ended("the janitor, which removes "+g.Dir, err.Error(), g.complaints.String())
}

// endJanitor kills the janitor, and returns when it has ended.
func (g *Group) endJanitor(ended <-chan error) {
	if err := g.janitor.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	<-ended
}

// holders are the processes, other than this one and the janitor, that have the pipe whose end
// the janitor waits for, and are in no group of a child: these have been killed. See proc(5).
func (g *Group) holders() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is good
	for _, link := range links {
		if name, err := os.Readlink(link); err != nil || name != g.pipe {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err != nil || pid == os.Getpid() || pid == g.janitor.Process.Pid || g.killed(pid) || slices.Contains(pids, pid) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// killed reports whether a process is one of a child's group. All of the group were killed.
func (g *Group) killed(pid int) bool {
	return slices.ContainsFunc(g.procs, func(p *Process) bool { return groupOf(pid) == p.PID() })
}

// shownPIDs are processes, each with the name of the program that it runs.
func shownPIDs(pids []int) string {
	var shown []string
	for _, pid := range pids {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have ended meanwhile
		shown = append(shown, strings.TrimSpace(fmt.Sprintf("%d %s", pid, name)))
	}
	return strings.Join(shown, ", ")
}

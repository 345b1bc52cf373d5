package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// family is the process group of a child that may start processes of its own. The child leads
// the group, whose id is the child's.
type family struct {
	mu   sync.Mutex
	over bool // the child has ended, and soon its id may be another process's
}

func (f *family) signal(leader int, s syscall.Signal) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return os.ErrProcessDone
	}
	return kernel.SignalGroup(leader, s)
}

// end waits for the end of the leader, and kills what is left of the group.
func (f *family) end(leader *os.Process) {
	_ = kernel.AwaitEnd(leader) // a child of this process is there until it is waited for
	_ = f.signal(leader.Pid, syscall.SIGKILL)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// stopDeadline is for how long a group that was sent SIGSTOP may go on.
const stopDeadline = 10 * time.Second

// awaitStop returns when all processes of a group that was sent SIGSTOP stand still.
func (f *family) awaitStop(leader *Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopDeadline)
	defer cancel()
	going := 0
	err := awaitStill(ctx, func() (bool, error) {
		if leader.hasEnded() {
			return false, leader.Ended()
		}
		going = 0
		for _, pid := range Members(leader.PID()) {
			still, err := stopped(pid)
			if err == nil && !still { // else it has ended
				going = pid
			}
		}
		return going == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s was stopped, but its process %d goes on after %v", leader.Name, going, stopDeadline)
	}
	return err
}

// Members are the processes of a group that still run.
func Members(group int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, file := range files {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && groupOf(pid) == group {
			pids = append(pids, pid)
		}
	}
	return pids
}

// groupOf is the process group of a process; 0 where it has ended, be it that nobody has reaped it
// yet: where nobody reaps orphans that would be so for ever. See proc(5).
func groupOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const stateField, groupField = 0, 2 // after the name, which is in brackets and may have some
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= groupField || fields[stateField] == "Z" || fields[stateField] == "X" {
		return 0
	}
	group, _ := strconv.Atoi(fields[groupField])
	return group
}

// Each calls do with each process that was started, in their order; name is what Start was told.
func (g *Group) Each(do func(name string, p *Process)) {
	g.mu.Lock()
	procs := g.procs
	g.mu.Unlock()
	for _, p := range procs {
		do(p.lane, p)
	}
}

// Waited is for how long the threads of the process, and of those that it started, in all, were ready to run since they
// began, and waited for a processor; 0 where it has ended, or the kernel does not tell. See the
// kernel's documentation of schedstats.
func (p *Process) Waited() (all time.Duration) {
	if p.hasEnded() {
		return 0
	}
	pids := []int{p.PID()}
	if p.family != nil {
		pids = Members(p.PID())
	}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is good
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				continue // a thread that has just ended
			}
			var ran, delay time.Duration
			if _, err := fmt.Fscan(strings.NewReader(string(b)), &ran, &delay); err == nil {
				all += delay
			}
		}
	}
	return all
}

// Other is a process that is not this one's child.
type Other struct {
	PID int
	of  *os.Process
}

// Find finds a process by its id. Until Close, signals go to it and to no other that may get the same id.
func Find(pid int) (*Other, error) {
	if err := kernel.Missing(); err != nil {
		return nil, err
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0)) // nobody gets it
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = syscall.ESRCH
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return &Other{pid, p}, nil
}

// Close forgets the process.
func (f *Other) Close() error { return f.of.Release() }

// Pause stops the process and returns when all its threads stand still. Where
// that does not come to be, it lets it go on again.
func (f *Other) Pause(ctx context.Context) error {
	if err := f.signal(kernel.Stop); err != nil {
		return err
	}
	err := awaitStill(ctx, func() (bool, error) {
		still, err := stopped(f.PID)
		if err != nil {
			err = fmt.Errorf("process %d has ended: %w", f.PID, err)
		}
		return still, err
	})
	if err != nil && ctx.Err() != nil {
		_ = f.Resume()
	}
	return err
}

// awaitStill returns when still says yes, or fails, or ctx is done. The kernel tells of a stop only to
// the parent, so this looks again and again.
func awaitStill(ctx context.Context, still func() (bool, error)) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if yes, err := still(); yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Resume lets it go on.
func (f *Other) Resume() error { return f.signal(kernel.Continue) }

// Kill kills the process. It does not wait for the end.
func (f *Other) Kill() error { return f.signal(syscall.SIGKILL) }

func (f *Other) signal(s syscall.Signal) error {
	if err := f.of.Signal(s); err != nil {
		return fmt.Errorf("send %v to process %d: %w", s, f.PID, err)
	}
	return nil
}

// stopped reports whether all threads of a process stand still; see proc(5).
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	if len(threads) == 0 {
		return false, os.ErrProcessDone
	}
	for _, thread := range threads {
		b, err := os.ReadFile(thread)
		if err != nil {
			return false, nil // a thread that has just ended
		}
		_, state, _ := strings.Cut(string(b), ") ")
		if !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "t") {
			if strings.HasPrefix(state, "Z") {
				return false, os.ErrProcessDone
			}
			return false, nil
		}
	}
	return true, nil
}

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

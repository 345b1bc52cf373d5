// Package proc runs child processes that leave nothing behind: they die with their parent, whatever ends it,
// and a directory for their files goes with the last of them.
package proc

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// Process is a child process.
type Process struct {
	Name string
	// Stdin and Stdout are the other ends of the child's.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	lane   string            // the name, as the group was given it
	cmd    *exec.Cmd         // whose signals, by pidfd, cannot hit another process that got the same id
	family *family           // nil: the process is alone
	told   func(text string) // as Waits of the group
	stderr tail
	done   chan struct{}
	err    error // of Wait, once done is closed
}

// Group is a set of processes, and a directory for them.
type Group struct {
	Dir string
	// Lane, if not nil, shows what a process says on standard error, and when it begins and ends.
	Lane func(process string) io.Writer
	// Waits, if not nil, is told of a process that takes long to serve, and what it lacks.
	Waits func(text string)

	exe     string
	spawn   chan func()
	alive   *os.File // write end of a pipe that each child inherits
	pipe    string   // what the kernel calls it
	janitor *exec.Cmd

	complaints tail // of the janitor

	mu    sync.Mutex
	procs []*Process
	after []func()
}

// stderrDelay is for how long after a child's end its standard error is read on.
const stderrDelay = time.Second

// JanitorArg is the first argument with which NewGroup starts exe to be the Janitor, on a machine
// without sh.
const JanitorArg = "janitor"

// NewGroup makes a group whose children run exe.
//
// It starts a janitor first: a process that waits until this one and all children are gone, which it knows by
// the end of a pipe that they all hold, and then removes the directory. So that a kill -9 of this process
// leaves no files behind either.
func NewGroup(exe string) (*Group, error) {
	if err := kernel.Missing(); err != nil {
		return nil, err
	}
	dir := unusedName()
	watch, alive, err := os.Pipe()
	if err != nil {
		return nil, advise(err)
	}
	defer watch.Close()
	pipe, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", alive.Fd()))
	g := &Group{Dir: dir, exe: exe, spawn: make(chan func()), alive: alive, pipe: pipe}
	g.janitor = janitor(exe, dir)
	g.janitor.Stdin, g.janitor.Stderr = watch, &g.complaints
	g.janitor.SysProcAttr = kernel.Apart()
	if err := g.janitor.Start(); err != nil {
		alive.Close()
		return nil, advise(fmt.Errorf("start the janitor: %w", err))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		alive.Close()
		return nil, errors.Join(fmt.Errorf("%w; set TMPDIR to a directory in which files can be made", err), g.awaitJanitor())
	}
	go func() {
		// The parent that a child dies with is the thread that started it, so one
		// thread starts them all and stays (PR_SET_PDEATHSIG(2); Go issue 27505).
		runtime.LockOSThread()
		for start := range g.spawn {
			start()
		}
	}()
	return g, nil
}

// unusedName names a directory that nobody has. It is not made here, as by
// os.MkdirTemp: there is nobody yet who would remove it after a kill -9.
func unusedName() string { return filepath.Join(os.TempDir(), "fencelab-"+rand.Text()) }

// janitor is the program that waits for the end of its standard input, and removes dir. It is
// sh: a program in Go ends where it gets no further thread, and then a limit of them that ends this
// process ends the janitor, too. So sh starts nothing either, it becomes rm. Without sh or rm it is exe.
func janitor(exe, dir string) *exec.Cmd {
	rm, noRm := exec.LookPath("rm")
	sh, noSh := exec.LookPath("sh")
	if noRm != nil || noSh != nil {
		return exec.Command(exe, JanitorArg, dir)
	}
	return exec.Command(sh, "-c", `trap "" INT TERM HUP; while read -r _; do :; done; exec "$0" -rf -- "$1"`, rm, dir)
}

// Janitor is the command that exe needs where there is no sh: it waits for the end of standard
// input, and removes a directory.
func Janitor() *cobra.Command {
	return &cobra.Command{
		Use: JanitorArg + " DIR", Short: "Remove a directory when standard input ends", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			// Its work begins when the others are gone, so it stays whatever it is told.
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			// An error ends the pipe as well as its end does.
			_, _ = io.Copy(io.Discard, os.Stdin)
			return os.RemoveAll(args[0])
		},
	}
}

// Start starts a child. env is added to this process's environment.
func (g *Group) Start(name string, env []string, args ...string) (*Process, error) {
	p := &Process{Name: name, cmd: exec.Command(g.exe, args...), done: make(chan struct{})}
	return p, g.start(name, env, p)
}

// StartCommand starts a child that is a program of the user's: the first word of command is its
// name or path, the others are its first arguments. Errors show the command. Signals go to the
// child's whole process group, and what is left of the group ends with the child.
func (g *Group) StartCommand(name string, env, command []string, args ...string) (*Process, error) {
	p := leader(shown(name, strings.Join(command, " ")), exec.Command(command[0], slices.Concat(command[1:], args)...))
	return p, g.start(name, env, p)
}

// StartFamily is as Start, for a child that starts processes of its own. Signals go to all of them, as
// those to a program of the user's do.
func (g *Group) StartFamily(name string, env []string, args ...string) (*Process, error) {
	p := leader(name, exec.Command(g.exe, args...))
	return p, g.start(name, env, p)
}

// StartLine is as StartCommand, for a program that is a line for sh.
func (g *Group) StartLine(name, line string) (*Process, error) {
	p := leader(shown(name, line), exec.Command("sh", "-c", "exec "+line))
	return p, g.start(name, nil, p)
}

// StartLineTo is as StartLine, and has the program's standard output added to a file.
func (g *Group) StartLineTo(name, line, file string) (*Process, error) {
	p := leader(shown(name, line), exec.Command("sh", "-c", `exec >>"$0"; exec `+line, file))
	return p, g.start(name, nil, p)
}

// shown is what errors call a program of the user's.
func shown(name, command string) string { return fmt.Sprintf("%s (%.200s)", name, command) }

// leader is a child that is to lead a process group.
func leader(name string, cmd *exec.Cmd) *Process {
	return &Process{Name: name, cmd: cmd, done: make(chan struct{}), family: new(family)}
}

// start starts p, whose lane has a name.
func (g *Group) start(name string, env []string, p *Process) error {
	p.lane = name
	p.cmd.Env = append(os.Environ(), env...)
	if p.told = g.Waits; p.told == nil {
		p.told = func(string) {}
	}
	lane := io.Discard
	if g.Lane != nil {
		lane = g.Lane(name)
	}
	p.cmd.Stderr = io.MultiWriter(&p.stderr, lane)
	p.cmd.WaitDelay = stderrDelay // a grandchild may hold it open
	p.cmd.ExtraFiles = []*os.File{g.alive}
	p.cmd.SysProcAttr = kernel.Dying(true) // Ctrl-C is for the parent to act on
	var err error
	if p.Stdin, err = p.cmd.StdinPipe(); err != nil {
		return advise(fmt.Errorf("start %s: %w", p.Name, err))
	}
	// A pipe of our own: exec's would be closed by Wait before all is read.
	r, w, err := os.Pipe()
	if err != nil {
		return advise(fmt.Errorf("start %s: %w", p.Name, err))
	}
	defer w.Close()
	p.Stdout, p.cmd.Stdout = r, w
	started := make(chan error)
	g.spawn <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		r.Close()
		return advise(fmt.Errorf("start %s: %w", p.Name, err))
	}
	fmt.Fprintf(lane, "%s is process %d\n", name, p.PID())
	go func() {
		if p.family != nil {
			p.family.end(p.cmd.Process)
		}
		p.err = p.cmd.Wait()
		fmt.Fprintf(lane, "%s has ended (%s)\n", name, p.how())
		close(p.done)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.procs = append(g.procs, p)
	return nil
}

// After has Close do something when all processes have ended.
func (g *Group) After(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after = append(g.after, do)
}

// Close kills what still runs, waits for its end, does what After was told, and
// removes the directory. It must not be called twice.
func (g *Group) Close() error {
	g.mu.Lock()
	procs, after := g.procs, g.after
	g.mu.Unlock()
	for _, p := range procs {
		// A process that has ended already is as good.
		_ = p.Signal(syscall.SIGKILL)
	}
	for _, p := range procs {
		<-p.done
		p.Stdout.Close()
	}
	for _, do := range after {
		do()
	}
	close(g.spawn)
	err := os.RemoveAll(g.Dir)
	g.alive.Close()
	return errors.Join(err, g.awaitJanitor())
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

func (p *Process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error {
	var err error
	if p.family != nil {
		err = p.family.signal(p.PID(), s)
	} else {
		err = p.cmd.Process.Signal(s)
	}
	if err != nil {
		return fmt.Errorf("send %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Pause stops the process and returns once the kernel says that it stands still.
func (p *Process) Pause() error {
	if err := p.signalAndWait(kernel.Stop, kernel.AwaitStop); err != nil || p.family == nil {
		return err
	}
	return p.family.awaitStop(p)
}

// Resume lets a stopped process go on.
func (p *Process) Resume() error { return p.signalAndWait(kernel.Continue, kernel.AwaitContinue) }

// Kill kills the process and returns once it is gone.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) signalAndWait(s syscall.Signal, await func(*os.Process) (ended bool, err error)) error {
	if err := p.Signal(s); err != nil {
		return err
	}
	ended, err := await(p.cmd.Process)
	if err != nil {
		return fmt.Errorf("wait for %s after %v: %w", p.Name, s, err)
	}
	if ended {
		return p.Ended()
	}
	return nil
}

// Ended says how the process ended and what it last said on standard error.
func (p *Process) Ended() error {
	<-p.done
	return ended(p.Name, p.how(), p.stderr.String())
}

func (p *Process) how() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "with status 0"
}

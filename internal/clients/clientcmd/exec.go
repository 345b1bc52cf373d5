package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The statuses of exec where the command's own does not say it, as in env(1), timeout(1), sysexits.h.
const (
	statusLost          = 75 // EX_TEMPFAIL: the lock was lost, and the command ended with 0 all the same
	statusFailed        = 125
	statusNotExecutable = 126
	statusNotFound      = 127
	statusSignal        = 128 // and the signal's number
)

// execTTL is the lease's default: a command is to outlast a moment in which nobody renews it.
const execTTL = "10s"

func execCommand(c *config) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "exec --lock NAME -- COMMAND [ARGUMENT...]",
		Short: "Run a command while holding a lock",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("lock"), c.lock == "":
				return usage(cmd, errors.New("which lock? Give --lock NAME"))
			case len(args) == 0:
				return usage(cmd, errors.New("which command? Give it after --"))
			}
			c.chosen[setting.TTL] = cmd.Flag(setting.TTL).Value.String()
			return execLocked(cmd, c, args, grace)
		},
	}
	cmd.Flags().SetInterspersed(false) // the first argument is the command, and all that follows is its
	lease, _ := setting.Find(setting.Client, setting.TTL)
	lease.Default = execTTL
	cmd.Flags().Var(&setting.Value{Setting: lease, Values: c.chosen}, lease.Name, lease.About)
	cmd.Flags().DurationVar(&grace, "grace", 5*time.Second, "how long after SIGTERM a command that lost the lock gets SIGKILL")
	return cmd
}

func execLocked(cmd *cobra.Command, c *config, args []string, grace time.Duration) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cannotRun(err)
	}
	s, err := c.connect(cmd, nil)
	if exit := new(cli.ExitError); errors.As(err, &exit) {
		return exit
	} else if err != nil {
		return &cli.ExitError{Code: statusFailed, Err: err}
	}
	defer s.close()

	// A signal ends the waiting; once the command runs, signals are for it.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	waiting, giveUp := context.WithCancelCause(context.WithoutCancel(cmd.Context()))
	defer giveUp(nil)
	stop := context.AfterFunc(cmd.Context(), func() { giveUp(context.Cause(cmd.Context())) })
	status := -1
	host, _ := os.Hostname() // "" if nobody knows it
	err = lock.Do(lock.WithWords(waiting, host+", "+filepath.Base(args[0])), service.Backend(s.locks), c.lock, func(ctx context.Context, g lock.Grant) error {
		if !stop() {
			return context.Cause(cmd.Context()) // not waiting's, which may get it only later
		}
		signal.Notify(signals, syscall.SIGQUIT) // until now it ends this process
		child := exec.Command(path, args[1:]...)
		child.Args[0] = args[0]
		child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		child.Env = append(os.Environ(), "FENCING_TOKEN="+g.Token.String(), "FENCING_SCOPE="+g.Scope)
		var err error
		status, err = supervise(ctx, child, signals, grace, cli.Logger(cmd.ErrOrStderr(), slog.LevelInfo))
		return err
	})
	exit := new(cli.ExitError)
	switch {
	case err == nil && status == 0:
		return nil
	case err == nil:
		return &cli.ExitError{Code: status}
	case errors.As(err, &exit):
		return exit
	case status == -1:
		return &cli.ExitError{Code: statusFailed, Err: err}
	case (errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrCutOff)) && status == 0:
		status = statusLost
	}
	return &cli.ExitError{Code: status, Err: fmt.Errorf("after the command's end: %w", err)}
}

// supervise runs a command and returns its status. It ends the command when ctx is done: the lock is lost.
func supervise(ctx context.Context, child *exec.Cmd, signals <-chan os.Signal, grace time.Duration, log *slog.Logger) (int, error) {
	// The child dies with the thread that starts it; see package proc.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// In a group of its own a command could not read its terminal, and Ctrl-Z would stop it alone.
	group := !onTerminal(child.Stdin)
	child.SysProcAttr = kernel.Dying(group)
	if err := child.Start(); err != nil {
		return -1, cannotRun(err)
	}
	// Where all are gone already there is none to tell.
	tell := func(s syscall.Signal) {
		if group {
			_ = kernel.SignalGroup(child.Process.Pid, s)
		} else {
			_ = child.Process.Signal(s)
		}
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		_ = child.Wait() // ProcessState has it
	}()
	lost, ended := ctx.Done(), (<-chan struct{})(waited)
	var impatient, poll <-chan time.Time
	for {
		select {
		case s := <-signals:
			if !group && (s == syscall.SIGINT || s == syscall.SIGQUIT) {
				break // the terminal sends them to the command, too
			}
			tell(s.(syscall.Signal))
		case <-lost:
			lost = nil
			log.Warn("the lock is lost: ending the command", "signal", "SIGTERM", "grace", grace)
			tell(syscall.SIGTERM)
			tell(kernel.Continue) // stopped, it could not act on it
			impatient = time.After(grace)
		case <-impatient:
			impatient = nil
			log.Warn("the command goes on after the loss of the lock: killing it", "signal", "SIGKILL")
			tell(syscall.SIGKILL)
			if ended == nil {
				return exitStatus(child), nil
			}
		case <-ended:
			if !group || impatient == nil {
				return exitStatus(child), nil
			}
			// The rest of the group has what is left of the grace.
			ended = nil
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			poll = ticker.C
		case <-poll:
			if len(proc.Members(child.Process.Pid)) == 0 {
				return exitStatus(child), nil
			}
		}
	}
}

func exitStatus(child *exec.Cmd) int {
	ws := child.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return statusSignal + int(ws.Signal())
	}
	return ws.ExitStatus()
}

func cannotRun(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &cli.ExitError{Code: statusNotFound, Err: err}
	}
	return &cli.ExitError{Code: statusNotExecutable, Err: err}
}

// onTerminal reports whether a standard input or output is a terminal.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

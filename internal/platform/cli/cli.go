// Package cli is what the commands share: how main maps an error to an exit status, and how a log line looks.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
)

// ExitError is an error that asks for an exit status. Without an Err nothing is
// printed: what went wrong was told already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Main runs a command with the process's arguments, and ends the process: with 0, with the status of an
// ExitError, with 2 for wrong usage, or with 1. Where nobody reads standard output any more it says nothing,
// and ends with 141. SIGINT, SIGTERM and SIGHUP end the command's context; a second one ends the process at
// once.
func Main(cmd *cobra.Command) {
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop)
	// A write to a pipe that nobody reads returns an error like any other, instead of ending the process
	// before it has cleaned up. (Ignored, it would be so for children too.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	prepare(cmd)
	understood := false // flags and arguments were
	cmd.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		err := cmp.Or(c.ValidateRequiredFlags(), c.ValidateFlagGroups())
		understood = err == nil
		return err
	}
	c, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		os.Exit(0)
	}
	if pipe, ok := errors.AsType[*fs.PathError](err); ok && pipe.Path == os.Stdout.Name() && errors.Is(pipe, syscall.EPIPE) {
		os.Exit(128 + int(syscall.SIGPIPE)) // as a shell says of a program that SIGPIPE has ended
	}
	code := 1
	exit, asks := errors.AsType[*ExitError](err)
	switch {
	case asks:
		code = exit.Code
	case !understood:
		code = exitUsage
		err = fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	}
	if !asks || exit.Err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", cmd.Name(), err)
	}
	os.Exit(code)
}

// exitUsage is the status of a command line that is not understood.
const exitUsage = 2

// prepare gives a command what all have: a version, a help, completions, and words for what is not understood.
func prepare(cmd *cobra.Command) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(unknownFlag)
	cmd.SetHelpCommand(helpCommand())
	cmd.AddCommand(completionCommand(cmd))
	if info, ok := debug.ReadBuildInfo(); ok {
		cmd.Version = Version(info)
		cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	}
}

// Help gives a command and those below it their long texts. The text of a command is in the file
// help/NAME.txt, if there is one. What comes after the line "Examples:" are the command's examples.
func Help(files fs.FS, cmd *cobra.Command) {
	if text, err := fs.ReadFile(files, "help/"+cmd.Name()+".txt"); err == nil {
		cmd.Long, cmd.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	}
	for _, below := range cmd.Commands() {
		Help(files, below)
	}
}

// Logger writes lines for people: coloured on a terminal that wants it, plain elsewhere.
func Logger(w io.Writer, level slog.Level) *slog.Logger {
	f, ok := w.(*os.File)
	colour := ok && term.IsTerminal(f.Fd()) && os.Getenv("NO_COLOR") == ""
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !colour, ReplaceAttr: tinted}))
}

// tinted gives levels colours that can be read on a dark background and on a light one.
func tinted(groups []string, a slog.Attr) slog.Attr {
	level, is := a.Value.Any().(slog.Level)
	if !is || a.Key != slog.LevelKey || len(groups) > 0 {
		return a
	}
	switch {
	case level >= slog.LevelError:
		return tint.Attr(160, a)
	case level >= slog.LevelWarn:
		return tint.Attr(127, a)
	}
	return tint.Attr(28, a)
}

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
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/platform/nearest"
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
		fmt.Fprintln(os.Stderr, columns.Fit(fmt.Sprintf("%s: %v", cmd.Name(), err), columns.Of(os.Stderr, "")))
	}
	os.Exit(code)
}

// exitUsage is the status of a command line that is not understood.
const exitUsage = 2

// prepare gives a command what all have: a version, a help, completions, and words for what is not understood.
func prepare(cmd *cobra.Command) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(unknownFlag)
	cmd.SetHelpFunc(tellHelp)
	cmd.SetHelpCommand(helpCommand())
	cmd.AddCommand(completionCommand(cmd))
	if info, ok := debug.ReadBuildInfo(); ok {
		cmd.Version = Version(info)
		cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	}
}

// Help gives a command and those below it their long texts, from the file help/NAME.txt, if there is one. There a
// paragraph is a line, and what comes after the line "Examples:" are the command's examples.
func Help(files fs.FS, cmd *cobra.Command) {
	if text, err := fs.ReadFile(files, "help/"+cmd.Name()+".txt"); err == nil {
		cmd.Long, cmd.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	}
	for _, below := range cmd.Commands() {
		Help(files, below)
	}
}

// tellHelp writes what a command says of itself, for the columns that there are.
func tellHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	width := min(cmp.Or(columns.Of(out, os.Getenv("COLUMNS")), 80), 100)
	fmt.Fprint(out, columns.Fit(cmp.Or(cmd.Long, cmd.Short)+"\n\n"+cmd.UsageString(), width))
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

// Command is a command with what each one has.
func Command(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
}

// Any is as many arguments as there are.
const Any = -1

// Args holds a command to a number of arguments, and to its ValidArgs where it has some.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && cmd.HasAvailableSubCommands():
			return UnknownCommand(cmd, args[0])
		case len(args) < least:
			return fmt.Errorf("an argument is missing: want %q", cmd.UseLine())
		case most != Any && len(args) > most:
			return fmt.Errorf("%q is one argument too many: want %q", args[most], cmd.UseLine())
		}
		for _, arg := range args {
			if len(cmd.ValidArgs) > 0 && !slices.Contains(cmd.ValidArgs, arg) {
				return fmt.Errorf("%w: want one of %s", unknown("argument", arg, cmd.ValidArgs), strings.Join(cmd.ValidArgs, ", "))
			}
		}
		return nil
	}
}

// unknown says what is unknown, and which known word may have been meant.
func unknown(kind, word string, known []string) error {
	err := fmt.Errorf("unknown %s %q", kind, word)
	if near := nearest.Word(word, known); near != "" {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return err
}

// UnknownCommand says that there is no such command below cmd.
func UnknownCommand(cmd *cobra.Command, word string) error {
	return unknown("command", word, commands(cmd))
}

// commands are the names of the commands below one.
func commands(cmd *cobra.Command) (names []string) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	return names
}

func unknownFlag(cmd *cobra.Command, err error) error {
	flag, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	typed := "--" + flag.GetSpecifiedName()
	if short := flag.GetSpecifiedShortnames(); short != "" {
		typed = "-" + short
	}
	return unknown("flag", typed, known)
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say what a command does, and how",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, _, _ := cmd.Root().Find(args)
			return commands(about), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args)
			if len(rest) > 0 {
				return &ExitError{Code: exitUsage, Err: fmt.Errorf("%w; see '%s --help'", UnknownCommand(about, rest[0]), about.CommandPath())}
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

func completionCommand(root *cobra.Command) *cobra.Command {
	shells := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
		"zsh":        root.GenZshCompletion,
	}
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:       "completion bash|fish|powershell|zsh",
		Short:     "Write a script by which a shell completes commands, flags and names",
		Example:   "  source <(" + root.Name() + " completion bash)",
		Args:      Args(1, 1),
		ValidArgs: names,
		RunE:      func(cmd *cobra.Command, args []string) error { return shells[args[0]](cmd.OutOrStdout()) },
	}
}

// Version says what a binary was built of.
func Version(info *debug.BuildInfo) string {
	about := make(map[string]string)
	for _, s := range info.Settings {
		about[s.Key] = s.Value
	}
	version := cmp.Or(info.Main.Version, "(devel)")
	if revision := about["vcs.revision"]; revision != "" {
		version += ", revision " + revision
	}
	if about["vcs.modified"] == "true" {
		version += ", changed since"
	}
	return fmt.Sprintf("%s\n%s %s/%s", version, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/platform/nearest"
)

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
				return unknown("argument", arg, cmd.ValidArgs)
			}
		}
		return nil
	}
}

// unknown says what is unknown, and which known word may have been meant.
func unknown(kind, word string, known []string) error {
	err := fmt.Errorf("unknown %s %q", kind, word)
	if near := nearest.Word(word, known); near != "" {
		err = fmt.Errorf("%w: did you mean %s?", err, near)
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
				return &ExitError{Code: exitUsage, Err: UnknownCommand(about, rest[0])}
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

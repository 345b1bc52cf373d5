package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
)

// The test binary is a command that prints, and says what went wrong.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asCommand {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		cli.Main(command())
	}
	os.Exit(m.Run())
}

const asCommand = "as-command"

func command() *cobra.Command {
	nothing := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "test", Args: cli.Args(0, 0), RunE: nothing}
	print := &cobra.Command{Use: "print", Args: cli.Args(0, 0), RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "text")
		if err != nil {
			err = &cli.ExitError{Code: 2, Err: fmt.Errorf("print: %w", err)}
		}
		return err
	}}
	read := &cobra.Command{Use: "read FILE...", Short: "Read files, one after another, and say what is in them", Args: cli.Args(1, cli.Any), RunE: nothing}
	read.Flags().Bool("step", false, "wait for Enter before each line")
	shapes := &cobra.Command{Use: "shapes", Args: cli.Args(0, 0), RunE: nothing}
	shapes.Flags().Int("sides", 0, "")
	shapes.MarkFlagRequired("sides")
	shape := &cobra.Command{Use: "shape round|square", Args: cli.Args(1, 1), ValidArgs: []string{"round", "square"}, RunE: nothing}
	root.AddCommand(print, read, shape, shapes)
	return root
}

func start(args ...string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{asCommand}, args...)...)
}

// TestMisuse: what is not understood ends with 2, and in words that help.
func TestMisuse(t *testing.T) {
	for line, want := range map[string]string{
		"pritn":          `test: unknown command "pritn" (did you mean print?); see 'test --help'`,
		"xyz":            `test: unknown command "xyz"; see 'test --help'`,
		"help pritn":     `test: unknown command "pritn" (did you mean print?); see 'test --help'`,
		"help print out": `test: unknown command "out"; see 'test print --help'`,
		"read":           `test: an argument is missing: want "test read FILE... [flags]"; see 'test read --help'`,
		"read --stepp a": `test: unknown flag "--stepp" (did you mean --step?); see 'test read --help'`,
		"read -step a":   `test: unknown flag "-step" (did you mean --step?); see 'test read --help'`,
		"read -x a":      `test: unknown flag "-x"; see 'test read --help'`,
		"print more":     `test: "more" is one argument too many: want "test print [flags]"; see 'test print --help'`,
		"shapes":         `test: required flag(s) "sides" not set; see 'test shapes --help'`,
		"shape rond":     `test: unknown argument "rond" (did you mean round?): want one of round, square; see 'test shape --help'`,
		"completion foo": `test: unknown argument "foo": want one of bash, fish, powershell, zsh; see 'test completion --help'`,
		"completion":     `test: an argument is missing: want "test completion bash|fish|powershell|zsh [flags]"; see 'test completion --help'`,
	} {
		cmd := start(strings.Fields(line)...)
		said, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != 2 || string(said) != want+"\n" {
			t.Errorf("%s: status %d, and it says\n%swant 2 and\n%s", line, got, said, want)
		}
	}
}

// TestAsked: a version, a help and completions are what all commands have.
func TestAsked(t *testing.T) {
	for line, want := range map[string]string{
		"--version":                  runtime.Version(),
		"help":                       "completion  Write a script",
		"help read":                  "Read files",
		"completion bash":            "bash completion V2 for test",
		"completion fish":            "fish completion for test",
		"completion zsh":             "#compdef test",
		"__complete help read extra": ":4",
	} {
		said, err := start(strings.Fields(line)...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v, and it says\n%s\nwant %q in it", line, err, said, want)
		}
	}
}

// TestHelpFits: a help has no more columns than there are, and breaks between words.
func TestHelpFits(t *testing.T) {
	cmd := start("help", "read")
	cmd.Env = append(os.Environ(), "COLUMNS=40")
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Read files, one after another, and say\nwhat is in them\n",
		"      --step\n        wait for Enter before each line\n",
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it says\n%s\nwant in it\n%s", said, want)
		}
	}
}

// TestNobodyReads: a reader that has left, as head does, is no error to tell of. A
// disk that is full is one.
func TestNobodyReads(t *testing.T) {
	r, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer gone.Close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, tt := range []struct {
		out    *os.File
		status int
		says   string
	}{
		{gone, 141, ""},
		{full, 2, "test: print: write /dev/stdout: no space left on device\n"},
	} {
		cmd := start("print")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = tt.out, &said
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != tt.status || said.String() != tt.says {
			t.Errorf("exit status %d, and it says %q, want %d and %q", got, said.String(), tt.status, tt.says)
		}
	}
}

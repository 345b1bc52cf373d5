package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
)

// The test binary is a command that prints, and says what went wrong.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "print" {
		root := &cobra.Command{Use: "test"}
		root.AddCommand(&cobra.Command{Use: "print", RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "text")
			if err != nil {
				err = &cli.ExitError{Code: 2, Err: fmt.Errorf("print: %w", err)}
			}
			return err
		}})
		cli.Main(root)
	}
	os.Exit(m.Run())
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
		cmd := exec.Command(os.Args[0], "print")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = tt.out, &said
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != tt.status || said.String() != tt.says {
			t.Errorf("exit status %d, and it says %q, want %d and %q", got, said.String(), tt.status, tt.says)
		}
	}
}

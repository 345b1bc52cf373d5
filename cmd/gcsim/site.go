package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
)

// siteProgram makes the site. It is a program of its own, as it needs what no run needs.
const siteProgram = "github.com/fencelab/fencelab/internal/site"

func siteCommand() *cobra.Command {
	var out string
	cmd := cli.Command("site", "Make a static site of all documents", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		return cannot(makeSite(cmd, out))
	})
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory for the site (required)")
	return cmd
}

func makeSite(cmd *cobra.Command, out string) error {
	if out == "" {
		return errors.New("want -o DIR, the directory for the site")
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	clone, err := cloneDir(cmd)
	if err != nil {
		return err
	}
	site := exec.CommandContext(cmd.Context(), "go", "run", siteProgram, dir)
	site.Dir, site.Stdout, site.Stderr = clone, cmd.OutOrStdout(), cmd.ErrOrStderr()
	switch err := site.Run(); err.(type) {
	case nil:
	case *exec.ExitError: // the program has said why
		return &cli.ExitError{Code: exitCannot}
	default:
		return fmt.Errorf("make the site: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Open %s in your browser.\n", filepath.Join(dir, "index.html"))
	return nil
}

// cloneDir is the root of the clone in which gcsim was called.
func cloneDir(cmd *cobra.Command) (string, error) {
	list := exec.CommandContext(cmd.Context(), "go", "list", "-f", "{{.Module.Dir}}", siteProgram)
	var told strings.Builder
	list.Stderr = &told
	text, err := list.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the site is made by a program that Go builds: install Go: %w", err)
	case err != nil:
		return "", fmt.Errorf("the site is made of a clone, and this directory is in none: git clone https://github.com/fencelab/fencelab, and call gcsim there; go list: %w\n%s", err, told.String())
	}
	return strings.TrimSpace(string(text)), nil
}

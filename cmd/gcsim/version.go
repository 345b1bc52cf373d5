package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/service/all"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which gcsim this is, and which lock services are in it",
		Args:  cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this binary does not say what it was built of")
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionOf(info))
			return err
		},
	}
}

// versionOf says what a binary was built of, and which lock services it has found, a line each.
func versionOf(info *debug.BuildInfo) string {
	lines := fmt.Sprintf("gcsim %s\n", cli.Version(info))
	for _, service := range all.List {
		if where, _ := service.Found(); where != "" {
			lines += fmt.Sprintf("%s: %s\n", service.Name, where)
		}
	}
	return lines
}

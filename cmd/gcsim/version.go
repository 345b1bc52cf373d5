package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/service/all"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which gcsim this is, and which lock services are in it",
		Args:  cobra.NoArgs,
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
	about := make(map[string]string)
	for _, s := range info.Settings {
		about[s.Key] = s.Value
	}
	gcsim := cmp.Or(info.Main.Version, "(devel)")
	if revision := about["vcs.revision"]; revision != "" {
		gcsim += ", revision " + revision
	}
	if about["vcs.modified"] == "true" {
		gcsim += ", changed since"
	}
	lines := fmt.Sprintf("gcsim %s\n%s %s/%s\n", gcsim, info.GoVersion, runtime.GOOS, runtime.GOARCH)
	for _, service := range all.List {
		if where, _ := service.Found(); where != "" {
			lines += fmt.Sprintf("%s: %s\n", service.Name, where)
		}
	}
	return lines
}

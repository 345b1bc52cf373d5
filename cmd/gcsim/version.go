package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which gcsim this is, and which etcd is in it",
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

// etcdModule is the one whose version is that of the etcd that is built in.
const etcdModule = "go.etcd.io/etcd/server/v3"

// versionOf says what a binary was built of, a line each.
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
	etcd := "unknown"
	for _, m := range info.Deps {
		if m.Path == etcdModule {
			etcd = m.Version
		}
	}
	return fmt.Sprintf("gcsim %s\n%s %s/%s\netcd %s\n", gcsim, info.GoVersion, runtime.GOOS, runtime.GOARCH, etcd)
}

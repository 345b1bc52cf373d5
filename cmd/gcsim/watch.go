package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/watch"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

func watchCommand() *cobra.Command {
	var o watch.Options
	var name, to string
	var settings map[string]string
	cmd := &cobra.Command{
		Use:   "watch [flags] -- COMMAND [ARGUMENT]...",
		Short: "Is a program of your own safe from a pause?",
		Args:  cli.Args(1, cli.Any),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command, o.Settings, o.Output = args, settings, cmd.ErrOrStderr()
			o.Say = func(format string, args ...any) { fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) }
			verdict, err := watchProgram(cmd, o, name, to)
			switch {
			case cmd.Context().Err() != nil:
				return &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before the end")}
			case err != nil:
				return cannot(fmt.Errorf("could not be seen: %w", err))
			case verdict == history.Corrupted:
				o.Say("corrupted: a write of a program that had lost its lock got in")
				return &cli.ExitError{Code: exitDiffers}
			}
			o.Say("safe: no late write got in")
			return nil
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&name, "service", all.List[0].Name, "the lock service: "+strings.Join(service.Names(all.List), ", "))
	f.StringSliceVar(&o.Endpoints, "endpoints", nil, "addresses of a lock service that is there already (default: gcsim starts one)")
	f.StringVar(&o.Lock, "lock", "/lock", "the lock that the program takes, and nobody else")
	f.StringToStringVar(&settings, "set", nil, "a setting of the other client, such as by=RECIPE: it takes the lock in the way of the program; may be repeated")
	f.StringVar(&to, "to", "", "URL of the program's storage (default: gcsim starts one that checks tokens)")
	f.StringVar(&o.When, "at", watch.AtWrite, "when the program is stopped: at its first \"write\" under the lock, or at the \"grant\" of the lock")
	f.DurationVar(&o.Patience, "patience", time.Minute, "for how long a lock, a write or the end of a lease is waited for")
	f.DurationVar(&o.Linger, "linger", 5*time.Second, "for how long the program's writes are watched after the late one")
	return cmd
}

// watchProgram watches a program at a lock service of a name, and a storage at a URL; "": one of gcsim's own.
func watchProgram(cmd *cobra.Command, o watch.Options, name, to string) (verdict string, err error) {
	switch {
	case o.When != watch.AtWrite && o.When != watch.AtGrant:
		return "", fmt.Errorf("--at is %q, want %s or %s", o.When, watch.AtWrite, watch.AtGrant)
	case o.Patience <= 0 || o.Linger <= 0:
		return "", fmt.Errorf("want --patience and --linger above 0, got %v and %v", o.Patience, o.Linger)
	}
	if err := notEmpty(cmd.Flags()); err != nil {
		return "", err
	}
	if to != "" {
		if o.To, err = url.Parse(to); err != nil {
			return "", fmt.Errorf("--to: %w", err)
		}
		if o.To.Scheme != "http" || o.To.Host == "" {
			return "", fmt.Errorf("--to is %q, want the URL of a storage such as http://127.0.0.1:8080", to)
		}
	}
	if o.Service, err = serviceOf(all.List, name); err != nil {
		return "", err
	}
	o.Exe = exe
	return watch.Watch(cmd.Context(), o)
}

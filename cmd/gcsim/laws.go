package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/cli"
)

type lawsOptions struct {
	reports
	laws.Options
}

func lawsCommand() *cobra.Command {
	var o lawsOptions
	cmd := &cobra.Command{
		Use:   "laws URL [URL]",
		Short: "Judge a storage of your own by the laws of a fenced storage",
		Args:  cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := o.judge(cmd, args)
			broken := report.Count(laws.Fails) > 0
			return judged(cmd, err, report, !broken && !report.OK(), broken)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Commands, "command", nil, "the storage to run, for sh, with {addr} or {port}, and {dir}; twice: two processes on the same data")
	f.StringArrayVar(&o.Only, "law", nil, "the name of a law to judge; may be repeated (default: all)")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "for how long a request may take")
	f.DurationVar(&o.Idle, "idle", 0, "for how long marks are left alone, to see whether they stay (default 6s)")
	f.IntVar(&o.Scopes, "scopes", 0, "how many marks there are at a time, to see whether all stay (default: as many as the storage takes in 30s, from 2000 to 25000)")
	f.BoolVar(&o.json, "json", false, "print the results as one JSON document instead of text")
	o.junitFlag(f)
	return cmd
}

// judge judges the storage, prints and saves what comes of it.
func (o lawsOptions) judge(cmd *cobra.Command, urls []string) (report laws.Report, err error) {
	if err := o.check(urls, cmd.Flags()); err != nil {
		return report, err
	}
	if err := o.prepare(nil); err != nil {
		return report, err
	}
	log.SetOutput(io.Discard) // where net/http says that a storage sends what nobody asked for
	out := &output{Writer: cmd.OutOrStdout()}
	if !o.json {
		o.Tell = func(report laws.Report, r laws.Result) {
			if len(report.Results) == 1 {
				_ = report.Begin(out)
			}
			_ = r.Text(out)
		}
	}
	o.Exe, o.URLs = exe, urls
	if report, err = laws.Judge(cmd.Context(), o.Options); err != nil {
		return report, err
	}
	if err := out.end(report, o.json); err != nil {
		return report, err
	}
	if err := o.save(report.Story()); err != nil {
		return report, fmt.Errorf("save: %w", err)
	}
	return report, nil
}

// check refuses what cannot be judged before anything is asked.
func (o lawsOptions) check(urls []string, f *pflag.FlagSet) error {
	switch {
	case len(urls) == 0 && len(o.Commands) == 0:
		return errors.New("name a storage: want its URL, such as http://127.0.0.1:8080, or --command")
	case len(urls) > 0 && len(o.Commands) > 0:
		return errors.New("want a URL or --command, got both")
	case len(o.Commands) > 2:
		return fmt.Errorf("want --command once or twice, got it %d times", len(o.Commands))
	case o.Timeout <= 0:
		return fmt.Errorf("want a --timeout above 0, got %v", o.Timeout)
	case o.Idle < 0 || o.Scopes < 0:
		return fmt.Errorf("want --idle and --scopes above 0, got %v and %d", o.Idle, o.Scopes)
	}
	for _, text := range urls {
		if err := checkStorageURL(text); err != nil {
			return err
		}
	}
	return notEmpty(f)
}

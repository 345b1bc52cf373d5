package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/outside/locklaws"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

type lawsOptions struct {
	reports
	laws.Options
	lockService string
}

func lawsCommand() *cobra.Command {
	var o lawsOptions
	cmd := cli.Command("laws URL [URL]", "Judge a storage, or a lock service, of your own by its laws", cli.Args(0, 2), func(cmd *cobra.Command, args []string) error {
		report, err := o.judge(cmd, args)
		broken := report.Count(laws.Fails) > 0
		return judged(cmd, err, report, !broken && !report.OK(), broken)
	})
	f := cmd.Flags()
	f.StringArrayVar(&o.Commands, "command", nil, "the storage to run, for sh, with {addr} or {port}, and {dir}; twice: two processes on the same data")
	f.StringVar(&o.lockService, "lock-service", "", "the lock service to run and judge, in the place of a storage: for sh, with {addr} or {port}, and {dir}")
	f.StringArrayVar(&o.Only, "law", nil, "the name of a law to judge; may be repeated (default: all)")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "for how long a request may take")
	f.DurationVar(&o.Idle, "idle", 0, "for how long marks are left alone, to see whether they stay (default 6s)")
	f.IntVar(&o.Scopes, "scopes", 0, "how many marks there are at a time, to see whether all stay (default: as many as the storage takes in 30s, from 2000 to 25000)")
	f.BoolVar(&o.json, "json", false, "print the results as one JSON document instead of text")
	o.junitFlag(f)
	return cmd
}

// judge judges the storage or the lock service, prints and saves what comes of it.
func (o lawsOptions) judge(cmd *cobra.Command, urls []string) (report laws.Report, err error) {
	var ended error
	err = fail.Caught(func() {
		fail.If(o.check(urls, cmd.Flags()))
		fail.If(o.prepare(nil))
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
		o.Progress = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
		o.Exe, o.URLs = exe, urls
		if o.lockService != "" {
			report, ended = locklaws.Judge(cmd.Context(), locklaws.Options{Command: o.lockService, Exe: exe, Timeout: o.Timeout, Only: o.Only, Tell: o.Tell})
		} else {
			report, ended = laws.Judge(cmd.Context(), o.Options)
		}
		if ended != nil {
			report.Error = ended.Error()
		}
		if ended == nil || o.json {
			fail.If(out.end(report, o.json))
		}
		if err := o.save(report.Story()); err != nil {
			fail.If(fmt.Errorf("save: %w", err))
		}
	})
	return report, errors.Join(err, ended)
}

// check refuses what cannot be judged before anything is asked.
func (o lawsOptions) check(urls []string, f *pflag.FlagSet) error {
	switch {
	case o.lockService != "" && (len(urls)+len(o.Commands) > 0 || o.Idle != 0 || o.Scopes != 0):
		return errors.New("--lock-service is judged alone: a URL, --command, --idle and --scopes are of storages")
	case o.lockService == "" && len(urls) == 0 && len(o.Commands) == 0:
		return errors.New("name a storage: want its URL, such as http://127.0.0.1:8080, or --command; or a lock service: --lock-service")
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

func agentCheckCommand() *cobra.Command {
	var o agentcheck.Options
	var name string
	var settings map[string]string
	var world []string
	var json bool
	cmd := cli.Command("agent-check [flags] COMMAND [ARGUMENT]...", "Check a client of your own: what does it get wrong of the agent's protocol?", cli.Args(1, cli.Any), func(cmd *cobra.Command, args []string) error {
		o.Command = args
		report, err := agentCheck(cmd, o, name, settings, world, json)
		return judged(cmd, err, report, report.Count(agentcheck.NotJudged) > 0, report.Count(agentcheck.Fails) > 0)
	})
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&name, "service", all.List[0].Name, "the lock service: "+strings.Join(service.Names(all.Named), ", "))
	f.StringArrayVar(&world, "world", nil, "a setting of the lock service's servers, NAME=VALUE; may be repeated")
	f.StringToStringVar(&settings, "set", nil, "a setting of the client, such as by=RECIPE; may be repeated")
	f.StringArrayVar(&o.Only, "check", nil, "the name of a check to make; may be repeated (default: all)")
	f.DurationVar(&o.Patience, "timeout", 10*time.Second, "for how long an answer is waited for")
	f.BoolVar(&json, "json", false, "print the results as one JSON document instead of text")
	return cmd
}

func agentCheck(cmd *cobra.Command, o agentcheck.Options, name string, settings map[string]string, world []string, json bool) (report agentcheck.Report, err error) {
	if o.Patience <= 0 {
		return report, fmt.Errorf("want a --timeout above 0, got %v", o.Patience)
	}
	if o.Service, err = serviceOf(all.Named, name); err != nil {
		return report, err
	}
	o.World = make(setting.Values)
	for _, text := range world {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return report, fmt.Errorf("--world is %q, want NAME=VALUE", text)
		}
		o.World[key] = value
	}
	o.Exe, o.Settings = exe, settings
	out := &output{Writer: cmd.OutOrStdout()}
	if !json {
		o.Tell = func(r agentcheck.Result) { _ = r.Text(out) }
	}
	if report, err = agentcheck.Judge(cmd.Context(), o); err != nil {
		return report, err
	}
	return report, out.end(report, json)
}

// serviceOf is the lock service of a name in a list, if its servers can be started here.
func serviceOf(list []*service.Service, name string) (*service.Service, error) {
	s := service.Named(list, name)
	if s == nil {
		return nil, fmt.Errorf("--service is %q, want %s", name, strings.Join(service.Names(list), ", "))
	}
	if where, bring := s.Found(); where == "" {
		return nil, fmt.Errorf("%s is missing: %s", name, bring)
	}
	return s, nil
}

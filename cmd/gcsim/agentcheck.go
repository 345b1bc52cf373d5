package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

func agentCheckCommand() *cobra.Command {
	var o agentcheck.Options
	var name string
	var settings map[string]string
	var world []string
	var json bool
	cmd := &cobra.Command{
		Use:   "agent-check [flags] COMMAND [ARGUMENT]...",
		Short: "Check a client of your own: what does it get wrong of the agent's protocol?",
		Args:  cli.Args(1, cli.Any),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command = args
			report, err := agentCheck(cmd, o, name, settings, world, json)
			return judged(cmd, err, report, report.Count(agentcheck.NotJudged) > 0, report.Count(agentcheck.Fails) > 0)
		},
	}
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

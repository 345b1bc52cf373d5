// Command gcsim shows what a distributed lock cannot do: it pauses the holder of
// a lock, in real processes on a real etcd, and lets it write when it wakes up.
package main

import (
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service/all"
)

func main() { cli.Main(command()) }

// language is what scenarios can say.
var language = lab.Language(all.Named)

func command() *cobra.Command { return commandWith(kernel.Missing()) }

// commandWith is gcsim. Where noLinux is an error, the commands that start or stop
// processes return it.
func commandWith(noLinux error) *cobra.Command {
	run, lane, pause, learn, check, watch, serve := runCommand(), laneCommand(), pauseCommand(), learnCommand(), agentCheckCommand(), watchCommand(), serveCommand()
	if noLinux != nil {
		for _, c := range []*cobra.Command{run, lane, pause, learn, check, watch, serve} {
			c.RunE = func(*cobra.Command, []string) error { return cannot(noLinux) }
		}
	}
	root := &cobra.Command{
		Use:   "gcsim",
		Short: "Pause a lock holder and see what its write does when it wakes up",
		Long: `gcsim runs scenarios of distributed locking by real processes: a lock
service, a storage that checks fencing tokens, and clients that take locks. It makes faults
happen, draws what came of them as a timeline while it goes on, and judges it.

Without a command it runs the main story, ` + mainStory + `: a lock holder is
stopped, its lease runs out, another client takes the lock and writes, and then
the first one goes on and writes too. It runs it twice, side by side, and tells
first the control, with a storage that checks nothing, and then the run with one
that checks tokens.`,
		Example: `  gcsim                      the main story
  gcsim --step               event by event, each after Enter
  gcsim list                 the scenarios
  gcsim services             the lock services that they can use
  gcsim explain gc-pause     what one of them teaches
  gcsim run gc-pause-real    run one
  gcsim run                  run all
  gcsim run -o out           and keep the results: open out/index.html
  gcsim check out/01-gc-pause/fenced/history.jsonl
  gcsim serve                stop a lock holder yourself, in your browser
  gcsim replay --slow out/01-gc-pause/*/history.jsonl
  gcsim laws URL             is a storage of your own fenced?
  gcsim agent-check COMMAND  does a client of your own speak the protocol?
  gcsim watch -- COMMAND     is a program of your own safe from a pause?
  gcsim new mine             write one of your own
  gcsim learn                the exercises of the course`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run.RunE(cmd, []string{mainStory}) },
	}
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(run, listCommand(), servicesCommand(), explainCommand(), newCommand(), schemaCommand(), learn,
		lawsCommand(), check, watch, checkCommand(), replayCommand(), drawCommand(), serve, pause, lane, versionCommand())
	root.AddCommand(lab.Roles(all.List)...)
	return root
}

// Command gcsim shows what a distributed lock cannot do: it pauses the holder of
// a lock, in real processes on a real etcd, and lets it write when it wakes up.
package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/all"
)

// helps are what the commands say of themselves.
//
//go:embed help
var helps embed.FS

func main() { cli.Main(command()) }

// language is what scenarios can say.
var language = lab.Language(all.Named)

// exe is this program, of which a run's processes are.
var exe, noExe = os.Executable()

func command() *cobra.Command { return commandWith(cmp.Or(kernel.Missing(), noExe, tooFew())) }

// leastProcesses is how many processes and threads the main story needs. Where it finds too few on its way, it
// may have no thread left to say so.
const leastProcesses = 100

// tooFew is an error where this user may not have so many processes.
func tooFew() error {
	n, err := kernel.Processes()
	if err != nil || os.Geteuid() == 0 {
		return nil
	}
	return enough(n)
}

func enough(n uint64) error {
	if n >= leastProcesses {
		return nil
	}
	return fmt.Errorf("%d processes and threads are allowed, and %d are needed; %s", n, leastProcesses, proc.MoreProcesses)
}

// commandWith is gcsim. Where lacks is an error, the commands that start or stop processes return it.
func commandWith(lacks error) *cobra.Command {
	run, hunt, lane, pause, learn, check, watch, serve := runCommand(), huntCommand(), laneCommand(), pauseCommand(), learnCommand(), agentCheckCommand(), watchCommand(), serveCommand()
	if lacks != nil {
		for _, c := range []*cobra.Command{run, hunt, lane, pause, learn, check, watch, serve} {
			c.RunE = func(*cobra.Command, []string) error { return cannot(lacks) }
		}
	}
	root := cli.Command("gcsim", "Pause a lock holder and see what its write does when it wakes up", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		return run.RunE(cmd, []string{mainStory})
	})
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(run, listCommand(), servicesCommand(), explainCommand(), newCommand(), schemaCommand(), learn,
		exploreCommand(), hunt, lawsCommand(), check, watch, checkCommand(), replayCommand(), drawCommand(), serve, siteCommand(), pause, lane, versionCommand())
	cli.Help(helps, root)
	root.AddCommand(lab.Roles(all.List)...)
	return root
}

func versionCommand() *cobra.Command {
	return cli.Command("version", "Say which gcsim this is, and which lock services are in it", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("this binary does not say what it was built of")
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), versionOf(info))
		return err
	})
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

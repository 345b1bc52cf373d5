package lab

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

// Roles are the commands that the lab starts processes with. The program that
// Options.Exe names must have them.
func Roles(services []*service.Service) []*cobra.Command {
	roles := []*cobra.Command{storagecmd.Command(), clientcmd.Command(services), Janitor()}
	for _, role := range roles {
		role.Hidden = true
	}
	for _, s := range services {
		if s.Command != nil {
			roles = append(roles, s.Command())
		}
	}
	return roles
}

// Janitor is the role that every proc.Group needs.
func Janitor() *cobra.Command {
	return &cobra.Command{
		Use:   proc.JanitorArg + " DIR",
		Short: "Remove a directory when standard input ends",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Its work begins when the others are gone, so it stays whatever it is told.
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			return proc.Janitor(args[0], os.Stdin)
		},
	}
}

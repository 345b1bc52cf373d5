// Package clientcmd is the command "client": it takes a lock and works on a storage under it. gcsim has the
// command, too, as it is its own client process.
package clientcmd

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
)

type config struct {
	services       []*service.Service
	service        string
	endpoints      []string
	chosen         setting.Values // by flags
	storage        storageflags.Flags
	lock           string
	name           string
	connectTimeout time.Duration
}

// Command is the command "client", where there are these lock services. The first one is the default.
func Command(services []*service.Service) *cobra.Command {
	c := config{services: services, chosen: make(setting.Values)}
	cmd := &cobra.Command{
		Use:   "client 1|2",
		Short: "A lock client: contrib/lock's clients 1 and 2, scripted, or wrapping a command",
		Long: `client takes a lock and works on a storage under it.

"client 1" and "client 2" are those of etcd's contrib/lock. Client 1 takes the
lock and waits for a key to be hit. Let its lease end meanwhile, run client 2,
and go on with client 1: the storage refuses its write, because the token is
older than client 2's.`,
		Example: `  client 1
  client agent --name client1
  client exec --lock /backup -- ./backup.sh
  client who /backup`,
		Args: cobra.ArbitraryArgs, // contrib judges them, as contrib/lock does
		RunE: func(cmd *cobra.Command, args []string) error { return contrib(cmd, &c, args) },
	}
	f := cmd.PersistentFlags()
	f.StringVar(&c.service, "service", services[0].Name, "the lock service")
	f.StringSliceVar(&c.endpoints, "endpoints", nil, "the lock service's addresses (default those that it has by itself on this machine)")
	c.storage.Add(f)
	f.StringVar(&c.lock, "lock", "/lock", "name of the lock")
	f.StringVar(&c.name, "name", "client", "of this client, in reports and request IDs")
	f.DurationVar(&c.connectTimeout, "connect-timeout", 4*time.Second, "how long to try to reach the lock service and the storage at the start")
	c.addSettings(f, everyClients)
	cmd.AddCommand(agentCommand(&c), execCommand(&c), whoCommand(&c))
	return cmd
}

// everyClients reports whether a setting is one of all commands, and not of the agent alone.
func everyClients(s setting.Setting) bool { return s.Name == setting.TTL || s.Name == setting.Token }

// addSettings makes flags of the settings of clients, whatever the service is.
func (c *config) addSettings(f *pflag.FlagSet, wanted func(setting.Setting) bool) {
	list := slices.Clone(setting.Client)
	for _, d := range c.services {
		list = append(list, d.Client...)
	}
	for _, s := range list {
		if !wanted(s) || f.Lookup(s.Name) != nil {
			continue
		}
		flag := f.VarPF(&setting.Value{Setting: s, Values: c.chosen}, s.Name, "", s.About)
		if s.Kind == setting.Flag {
			flag.NoOptDefVal = "true"
		}
	}
}

// usage is the error of a command line that cannot be meant so.
func usage(cmd *cobra.Command, err error) error {
	return &cli.ExitError{Code: 2, Err: fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())}
}

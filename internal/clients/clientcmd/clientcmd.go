// Package clientcmd is the command "client": it takes a lock and works on a storage under it. gcsim has the
// command, too, as it is its own client process.
package clientcmd

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/clients/agent"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
	"github.com/fencelab/fencelab/pkg/lock"
)

// helps are what the commands say of themselves.
//
//go:embed help
var helps embed.FS

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
		Args:  cobra.ArbitraryArgs, // contrib judges them, as contrib/lock does
		RunE:  func(cmd *cobra.Command, args []string) error { return contrib(cmd, &c, args) },
	}
	f := cmd.PersistentFlags()
	f.StringVar(&c.service, "service", services[0].Name, "the lock service")
	f.StringSliceVar(&c.endpoints, "endpoints", nil, "the lock service's addresses (default those that it has by itself on this machine)")
	c.storage.Add(f)
	f.StringVar(&c.lock, "lock", "/lock", "name of the lock")
	f.StringVar(&c.name, "name", "client", "of this client, in reports and request IDs")
	f.DurationVar(&c.connectTimeout, "connect-timeout", 4*time.Second, "how long to try to reach the lock service and the storage at the start")
	c.addSettings(f, everyClients)
	obeying := agentCommand(&c)
	cmd.AddCommand(obeying, execCommand(&c), whoCommand(&c))
	cli.Help(helps, cmd)
	obeying.Long += "\n\n" + agent.Help()
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

func agentCommand(c *config) *cobra.Command {
	var sendStorage string
	var askedBefore uint64
	var asLines, inWords, inService bool
	cmd := cli.Command("agent", "Obey commands on standard input, report what happens", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		send := c.storage
		if sendStorage != "" {
			send.URL = sendStorage
		}
		if err := send.Check(); err != nil {
			return usage(cmd, fmt.Errorf("--send-storage: %w", err))
		}
		askStorage, sender := c.askStorage, send.Client
		if inService {
			if !c.stores() {
				return usage(cmd, fmt.Errorf("--in-service: no data can lie in %s", c.service))
			}
			askStorage, sender = nil, nil
		}
		s, err := c.connect(cmd, askStorage)
		if err != nil {
			return err
		}
		defer s.close()
		in, out, words := cmd.InOrStdin(), cmd.OutOrStdout(), io.Discard
		if onTerminal(in) {
			fmt.Fprintln(cmd.ErrOrStderr(), `type a command, such as lock or write key0=hello; "help" lists them, Ctrl-D ends`)
		}
		switch {
		case onTerminal(out) && !asLines:
			out, words = io.Discard, out
		case inWords:
			words = cmd.ErrOrStderr()
		}
		told := agent.Config{
			Name: c.name, Scope: c.lock, Settings: s.settings, Locks: s.locks, Storage: s.store, Sender: sender, AskedBefore: askedBefore, Words: words,
		}
		if _, stores := s.locks.(service.Store); inService && !stores {
			return usage(cmd, errors.New("--in-service: this client's library is in a process of its own, and reaches a storage by HTTP alone"))
		}
		half := peer.Of(s.locks)
		if half == nil {
			return agent.Run(cmd.Context(), in, out, told)
		}
		told.Heap, send.Through = half, half.Transport(true)
		err = agent.Run(half.While(cmd.Context()), in, out, told)
		return errors.Join(err, half.Ended())
	})
	cmd.Flags().BoolVar(&asLines, "json", false, "report JSON lines on a terminal, too")
	cmd.Flags().BoolVar(&inWords, "words", false, "where JSON lines are reported: report in words as well, on standard error")
	cmd.Flags().StringVar(&sendStorage, "send-storage", "", `URL by which "send" reaches the storage, if not that of --storage`)
	cmd.Flags().Uint64Var(&askedBefore, "asked-before", 0, "how many requests a client of that name has asked the storage for before; the IDs of this one's go on from there")
	cmd.Flags().BoolVar(&inService, "in-service", false, "the data lies in the lock service: read and write it there, and ask no storage")
	c.addSettings(cmd.Flags(), func(s setting.Setting) bool { return !everyClients(s) })
	return cmd
}

func whoCommand(c *config) *cobra.Command {
	cmd := cli.Command("who NAME", "Tell who holds a lock, and who waits for it", cli.Args(1, 1), func(cmd *cobra.Command, args []string) error {
		s, err := c.connect(cmd, nil)
		if err != nil {
			return err
		}
		defer s.close()
		ask, can := s.locks.(lock.Inspector)
		if !can {
			return fmt.Errorf("locks of %s do not tell who holds them", c.service)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), requestTimeout)
		defer cancel()
		state, err := ask.Inspect(ctx, args[0])
		if err != nil {
			return err
		}
		tell(cmd.OutOrStdout(), args[0], state)
		return nil
	})
	c.addSettings(cmd.Flags(), func(s setting.Setting) bool { return s.Name == service.By })
	return cmd
}

// tell says who has a lock, and who waits for it.
func tell(w io.Writer, name string, state lock.State) {
	if len(state.Holders) == 0 {
		fmt.Fprintf(w, "%s is free\n", name)
	}
	for _, h := range state.Holders {
		fmt.Fprintf(w, "%s is held: %s\n", name, about(h))
	}
	for _, p := range state.Waiters {
		fmt.Fprintf(w, "%s is waited for: %s\n", name, about(p))
	}
	if !state.Queue {
		fmt.Fprintf(w, "the lock service does not know who waits for %s\n", name)
	}
}

// about is what is known of one who holds a lock or waits for it. What others have written is in
// quotes: it may be anything.
func about(p lock.Party) string {
	parts := []string{p.Mode.String()}
	if p.Token != 0 {
		parts = append(parts, "token "+p.Token.String())
	}
	if p.Left != 0 {
		parts = append(parts, p.Left.Round(time.Millisecond).String()+" left")
	}
	if p.Words != "" {
		parts = append(parts, fmt.Sprintf("%q", p.Words))
	}
	return strings.Join(append(parts, fmt.Sprintf("owner %q", p.Owner)), ", ")
}

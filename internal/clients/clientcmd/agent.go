package clientcmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/agent"
	"github.com/fencelab/fencelab/internal/clients/jvm"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

func agentCommand(c *config) *cobra.Command {
	var sendStorage string
	var askedBefore uint64
	var asLines, inWords, inService bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Obey commands on standard input, report what happens",
		Long: `agent obeys commands, a line each, and reports what it does and what becomes
of it on standard output: in words where that is a terminal, else, or with --json,
as events as in a history of gcsim, a JSON line each, but for their times, which
are nanoseconds since 1970. At the end of its input it releases its locks.

It can hold several locks. What takes one is about the lock that it names, else
about --lock; all else about the one that it names, else about the last one that
was granted and not unlocked. A write shows the token of that grant, also after the
lock was lost: only "unlock" or a new "lock" makes the agent forget it.

` + agent.Help(),
		Args: cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			half, inJava := s.locks.(*jvm.Client)
			switch {
			case !inJava:
				return agent.Run(cmd.Context(), in, out, told)
			case inService:
				return usage(cmd, errors.New("--in-service: a client in Java reaches a storage by HTTP alone"))
			}
			told.Heap, send.Through = half, half.Transport(true)
			err = agent.Run(half.While(cmd.Context()), in, out, told)
			return errors.Join(err, half.Ended())
		},
	}
	cmd.Flags().BoolVar(&asLines, "json", false, "report JSON lines on a terminal, too")
	cmd.Flags().BoolVar(&inWords, "words", false, "where JSON lines are reported: report in words as well, on standard error")
	cmd.Flags().StringVar(&sendStorage, "send-storage", "", `URL by which "send" reaches the storage, if not that of --storage`)
	cmd.Flags().Uint64Var(&askedBefore, "asked-before", 0, "how many requests a client of that name has asked the storage for before; the IDs of this one's go on from there")
	cmd.Flags().BoolVar(&inService, "in-service", false, "the data lies in the lock service: read and write it there, and ask no storage")
	c.addSettings(cmd.Flags(), func(s setting.Setting) bool { return !everyClients(s) })
	return cmd
}

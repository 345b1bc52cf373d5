package main

import (
	"flag"

	"github.com/nats-io/nats-server/v2/server"
)

// serve is a server of NATS, by the arguments of nats-server itself.
func serve(args []string) error {
	nothing := func() {}
	options, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), args, nothing, nothing, nothing)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		return err
	}
	s.WaitForShutdown()
	return nil
}

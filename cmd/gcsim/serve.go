package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/serve"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// Where the page is served. Nothing but loopback: the page starts processes.
const (
	serveHost = "127.0.0.1"
	servePort = 8090
)

func serveCommand() *cobra.Command {
	var places places
	var port, worlds int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Stop lock holders yourself, on a page in your browser",
		Args:  cli.Args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cannot(serveOn(cmd, places, port, worlds)) },
	}
	f := cmd.Flags()
	f.IntVar(&port, "port", servePort, "port of "+serveHost+" to listen on; 0: any free one")
	f.IntVar(&worlds, "worlds", 10, "how many worlds can be open at once")
	places.whereFlags(f)
	return cmd
}

func serveOn(cmd *cobra.Command, places places, port, worlds int) (failed error) {
	if worlds < 1 {
		return fmt.Errorf("want --worlds of 1 or more, got %d", worlds)
	}
	list, err := builtin()
	if err != nil {
		return err
	}
	found, err := places.find(list)
	if err != nil {
		return err
	}
	if err := found.reach(cmd.Context()); err != nil {
		return err
	}
	shared := &lab.Shared{Exe: exe}
	defer func() { failed = errors.Join(failed, shared.Close()) }()
	worldsOf := serve.New(serve.Options{
		Language: lab.Language(all.List), Scenarios: list, Judge: resultOf, Chapter: chapterAddress, Worlds: worlds,
		Missing: func(name string) string { return found.lacks(service.Named(found.services, name)) },
		Lab: func(v *scenario.Variant) (lab.Options, error) {
			if why := found.skips(v); why != "" {
				return lab.Options{}, errors.New(why)
			}
			return lab.Options{Exe: exe, Services: found.services, Endpoints: found.endpoints[v.World.Service], Shared: shared}, nil
		},
	})
	defer worldsOf.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort(serveHost, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: say another, or --port 0 for any free one: %w", port, err)
	}
	if err != nil {
		return err
	}
	server := &http.Server{Handler: worldsOf, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(cmd.Context(), func() {
		worldsOf.Close() // which ends the streams that Shutdown would wait for
		server.Close()
	})
	defer stop()
	fmt.Fprintf(cmd.OutOrStdout(), "Open http://%s in your browser. Ctrl-C ends gcsim and all worlds.\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// chapterAddress is where everybody can read the chapter about a scenario; "" where there is none.
func chapterAddress(name string) string {
	if file := chapterFile(name); file != "" {
		return published + file
	}
	return ""
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/watch"
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
	cmd := cli.Command("serve", "Stop lock holders yourself, on a page in your browser", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		return cannot(serveOn(cmd, places, port, worlds))
	})
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
		return docs.Published + file
	}
	return ""
}

func watchCommand() *cobra.Command {
	var o watch.Options
	var name, to string
	var settings map[string]string
	cmd := cli.Command("watch [flags] -- COMMAND [ARGUMENT]...", "Is a program of your own safe from a pause?", cli.Args(1, cli.Any), func(cmd *cobra.Command, args []string) error {
		o.Command, o.Settings, o.Output = args, settings, cmd.ErrOrStderr()
		o.Say = func(format string, args ...any) { fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) }
		verdict, err := watchProgram(cmd, o, name, to)
		switch {
		case cmd.Context().Err() != nil:
			return &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before the end")}
		case err != nil:
			return cannot(fmt.Errorf("could not be seen: %w", err))
		case verdict == history.Corrupted:
			o.Say("corrupted: a write of a program that had lost its lock got in")
			return &cli.ExitError{Code: exitDiffers}
		}
		o.Say("safe: no late write got in")
		return nil
	})
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&name, "service", all.List[0].Name, "the lock service: "+strings.Join(service.Names(all.List), ", "))
	f.StringSliceVar(&o.Endpoints, "endpoints", nil, "addresses of a lock service that is there already (default: gcsim starts one)")
	f.StringVar(&o.Lock, "lock", "/lock", "the lock that the program takes, and nobody else")
	f.StringToStringVar(&settings, "set", nil, "a setting of clients of the lock service, such as by=RECIPE: how the program takes the lock; may be repeated")
	f.StringVar(&to, "to", "", "the program's storage: a URL by "+strings.Join(watch.Schemes, ", ")+"; or a name of these but http, or \"unfenced\", which checks no tokens: gcsim starts it (default: gcsim's own, which checks tokens)")
	f.StringVar(&o.When, "at", watch.AtWrite, "when the program is stopped: at its first \"write\" under the lock, or at the \"grant\" of the lock")
	f.DurationVar(&o.Patience, "patience", time.Minute, "for how long a lock, a write or the end of a lease is waited for")
	f.DurationVar(&o.Linger, "linger", 5*time.Second, "for how long the program's writes are watched after the late one")
	return cmd
}

// watchProgram watches a program at a lock service of a name, and a storage at a URL; "": one of gcsim's own.
func watchProgram(cmd *cobra.Command, o watch.Options, name, to string) (verdict string, err error) {
	switch {
	case o.When != watch.AtWrite && o.When != watch.AtGrant:
		return "", fmt.Errorf("--at is %q, want %s or %s", o.When, watch.AtWrite, watch.AtGrant)
	case o.Patience <= 0 || o.Linger <= 0:
		return "", fmt.Errorf("want --patience and --linger above 0, got %v and %v", o.Patience, o.Linger)
	}
	if err := notEmpty(cmd.Flags()); err != nil {
		return "", err
	}
	if o.To, o.Unfenced, err = watch.StorageAt(to); err != nil {
		return "", fmt.Errorf("--to: %w", err)
	}
	if o.Service, err = serviceOf(all.List, name); err != nil {
		return "", err
	}
	o.Exe = exe
	return watch.Watch(cmd.Context(), o)
}

// Package storagecmd is the command "storage": it serves an engine of package kv
// over HTTP. It is a package so that gcsim, a single binary, can be its own
// storage process.
package storagecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

type config struct {
	listen  string
	engine  string
	data    string
	fencing onOff
	maxBody int64
	journal string
	issuer  []string
	level   slog.LevelVar
}

// onOff is a flag that reads "on" and "off", as scenarios spell it.
type onOff bool

func (o *onOff) String() string {
	if *o {
		return "on"
	}
	return "off"
}

func (o *onOff) Set(s string) error {
	switch s {
	case "on":
		*o = true
	case "off":
		*o = false
	default:
		return errors.New(`want "on" or "off"`)
	}
	return nil
}

func (*onOff) Type() string { return "on|off" }

// Command is the command "storage".
func Command() *cobra.Command {
	c := config{fencing: true}
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "An HTTP key-value storage that refuses stale writes",
		Long: `storage keeps values and serves them over HTTP. A write shows the
fencing token of the lock under which it is made; one that is older than the
highest token seen is refused, because its client has lost the lock and may not
know.

The engine "memory" forgets values and tokens when it ends, together. The engine
"bolt" keeps both in a file, in one transaction, and answers when it has been
synced to the disk.

It speaks the protocol of etcd's contrib/lock (POST /) and one of its own
(/v1/kv/, /v1/batch, /v1/marks/): see docs/protocol.md. Tokens order requests,
they permit nothing: anyone who reaches the port may write.`,
		Example: `  storage
  storage --engine bolt --data ./data
  curl -i -X PUT -H 'Fencing-Token: 34' -d hello http://127.0.0.1:8080/v1/kv/key0
  curl -i -X PUT -H 'Fencing-Token: 33' -d stale http://127.0.0.1:8080/v1/kv/key0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), &c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "address to serve; port 0 takes a free one")
	f.StringVar(&c.engine, "engine", "memory", "memory or bolt")
	f.StringVar(&c.data, "data", "", "directory of the bolt engine's file; made if it is missing")
	f.Var(&c.fencing, "fencing", "off: tokens are not checked. The control, to see what goes wrong without")
	f.Int64Var(&c.maxBody, "max-body", kvhttp.DefaultMaxBody, "largest request body, in bytes")
	f.StringVar(&c.journal, "journal", "", "file for an account of every operation as JSON lines; - is standard output")
	f.StringSliceVar(&c.issuer, "issuer", nil, "addresses of the etcd whose locks' create revisions are the tokens: one above its revision is refused (422). Without it, one client with a huge token locks out all others")
	f.TextVar(&c.level, "log-level", &c.level, "debug, info, warn or error")
	return cmd
}

// How long a client may take. A slow one keeps a connection and no lock; these
// bound how long.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	issuerTimeout   = 2 * time.Second
	maxHeader       = 64 << 10 // bytes
)

func run(ctx context.Context, c *config, stdout, stderr io.Writer) (err error) {
	if c.maxBody < 1 {
		return usage("--max-body is %d bytes, want 1 or more", c.maxBody)
	}
	log := cli.Logger(stderr, c.level.Level())
	options := kv.Options{Unfenced: !bool(c.fencing)}
	var journal *kv.Journal
	if c.journal != "" {
		w, err := openJournal(c.journal, stdout)
		if err != nil {
			return err
		}
		defer w.Close()
		journal = kv.NewJournal(w)
		options.Observe = journal.Observe
	}
	if len(c.issuer) > 0 {
		client, err := clientv3.New(clientv3.Config{Endpoints: c.issuer, Logger: zap.NewNop()})
		if err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
		defer client.Close()
		options.Bound = etcdlock.Bound(client, issuerTimeout)
	}
	engine, closeEngine, err := c.openEngine(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", c.listen, err)
	}
	srv := &http.Server{
		Handler: kvhttp.NewHandler(engine, kvhttp.Options{
			Limits: kvhttp.Limits{Body: c.maxBody}, Logger: log, Metrics: kvhttp.NewMetrics(),
		}),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if journal != nil {
		journal.Listening(ln.Addr().String()) // before the first request can be
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	log.Info("storage serves", "url", "http://"+ln.Addr().String(), "engine", c.engine, "fencing", c.fencing.String())
	if !c.fencing {
		log.Warn("fencing is off: stale writes are admitted")
	}
	select {
	case err := <-served:
		return fmt.Errorf("serving %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	log.Info("storage stops", "cause", context.Cause(ctx))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		// Requests that take longer are cut off: their clients do not know the outcome.
		return errors.Join(fmt.Errorf("requests still open after %v: %w", shutdownTimeout, err), srv.Close())
	}
	return nil
}

func (c *config) openEngine(o kv.Options) (kv.Engine, func() error, error) {
	switch {
	case c.engine == "memory" && c.data == "":
		return kv.NewMemory(o), func() error { return nil }, nil
	case c.engine == "memory":
		return nil, nil, usage("--data is of no use to the engine memory, which keeps no file; did you mean --engine bolt?")
	case c.engine == "bolt" && c.data != "":
		b, err := kv.OpenBolt(c.data, o)
		if err != nil {
			return nil, nil, err
		}
		return b, b.Close, nil
	case c.engine == "bolt":
		return nil, nil, usage("the engine bolt needs a directory for its file: --data DIR")
	}
	return nil, nil, usage("unknown engine %q, want memory or bolt", c.engine)
}

func usage(format string, args ...any) error {
	return &cli.ExitError{Code: 2, Err: fmt.Errorf(format, args...)}
}

func openJournal(name string, stdout io.Writer) (io.WriteCloser, error) {
	if name == "-" {
		return nopCloser{stdout}, nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return f, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

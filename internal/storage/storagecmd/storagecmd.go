// Package storagecmd is the command "storage": it serves an engine of package kv over HTTP. It is a package
// so that gcsim, a single binary, can be its own storage process.
package storagecmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/tracing"
)

// helps are what the commands say of themselves.
//
//go:embed help
var helps embed.FS

// Command is the command "storage".
func Command() *cobra.Command {
	c := config{engine: engineConfig{fencing: fencingOn}}
	cmd := cli.Command("storage", "An HTTP key-value storage that refuses stale writes", cli.Args(0, 0), func(cmd *cobra.Command, _ []string) error {
		return run(cmd.Context(), &c, cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	c.add(cmd.Flags())
	cmd.AddCommand(restoreCommand(), floorCommand(), tokenCommand())
	cli.Help(helps, cmd)
	return cmd
}

func run(ctx context.Context, c *config, stdout, stderr io.Writer) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	log := cli.Logger(stderr, c.level.Level())
	policy, security, err := c.guards(log)
	if err != nil {
		return err
	}
	stopTraces, err := tracing.Start(ctx, "fencelab-storage")
	if err != nil {
		return err
	}
	metrics := kvhttp.NewMetrics()
	options := kv.Options{Unfenced: c.engine.fencing == fencingOff, Observing: c.engine.fencing == fencingObserve, MaxKeys: c.maxKeys, MaxMarks: c.maxMarks, Committed: metrics.Committed}
	var journal *kv.Journal // nil: none is asked for
	switch c.journal {
	case "":
	case "-":
		journal = kv.NewJournal(stdout)
	default:
		f, err := os.OpenFile(c.journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		defer f.Close()
		journal = kv.NewJournal(f)
	}
	if journal != nil {
		options.Observe = journal.Observe
	}
	store, err := c.engine.open(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", c.listen, err)
	}
	if c.limits.Connections == 0 {
		c.limits.Connections = min(kvhttp.DefaultMaxConnections, mostConnections())
	}
	ln = kvhttp.LimitConnections(ln, c.limits, security != nil, metrics)
	url := "http://" + ln.Addr().String()
	if security != nil {
		ln, url = tls.NewListener(ln, security), "https://"+ln.Addr().String()
		metrics.Certificate(func() time.Time { return access.NotAfter(security) })
	}
	stopProfiles, err := c.serveProfiles(log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer stopProfiles()
	defer runtime.KeepAlive(make([]byte, heapRoom))
	stopping, turns := new(atomic.Bool), kvhttp.NewTurns()
	srv := NewServer(tracing.Handler(kvhttp.NewHandler(store.engine, kvhttp.Options{
		Limits: c.limits, Access: policy, Logger: log, Metrics: metrics, Bound: store.bound,
		Ready: append(store.ready, untilStop(stopping)), Loopback: onLoopback(ln),
		Turns: turns, EngineWaits: c.engine.kind != engineMemory,
	})), turns, c.limits.Key, log)
	if journal != nil {
		journal.Listening(ln.Addr().String()) // before the first request can be
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	log.Info("storage serves", "url", url, "engine", c.engine.kind, "fencing", c.engine.fencing.String())
	c.warn(log, onLoopback(ln))
	select {
	case err := <-served:
		return fmt.Errorf("serving %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	log.Info("storage stops", "cause", context.Cause(ctx))
	stopping.Store(true)
	stop(srv, stopTraces, log)
	return nil
}

// heapRoom is how much garbage may lie about before it is collected, at the least, in bytes: a storage with
// little data would be collected many times a second, at the cost of each request. As much memory is set
// aside and never touched, so it is only reckoned with.
const heapRoom = 32 << 20

// onLoopback: only this machine can reach the listener.
func onLoopback(ln net.Listener) bool {
	addr, ok := ln.Addr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// untilStop has /readyz say that the storage ends, so that no more is sent to it.
func untilStop(stopping *atomic.Bool) kvhttp.Check {
	return kvhttp.Check{Name: "process", Ready: func(context.Context) error {
		if stopping.Load() {
			return errors.New("its end: it was told to stop")
		}
		return nil
	}}
}

// stop lets the requests that are under way come to their end, and cuts off those that take longer. If a
// client does not send the rest of its request, or does not read its answer, that is no error of the storage;
// the client does not learn the outcome.
func stop(srv *http.Server, stopTraces func(context.Context) error, log *slog.Logger) {
	within := func(limit time.Duration, end func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		return end(ctx)
	}
	if within(shutdownTimeout, srv.Shutdown) != nil {
		log.Warn("requests that were not over were cut off", "after", shutdownTimeout)
		_ = srv.Close() // closes connections, as well as it can
	}
	if err := within(tracesTimeout, stopTraces); err != nil {
		log.Warn("the last traces were not sent", "err", err)
	}
}

// How long a client may take. A slow one keeps a connection and no lock; these bound how long.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	tracesTimeout   = time.Second // that the collector may take at the end
)

// headerRoom is how many bytes of header a request may have beside its key, which in a path may take three for one.
const headerRoom = 16 << 10

// NewServer is the server that serves a storage's handler, which has the same turns. Nil log: it logs nothing.
func NewServer(h http.Handler, turns *kvhttp.Turns, maxKey int64, log *slog.Logger) *http.Server {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    int(3*maxKey + headerRoom),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	kvhttp.Attach(srv, turns)
	return srv
}

// guards say who may call, and how. Each may be nil.
func (c *config) guards(log *slog.Logger) (policy *access.Policy, security *tls.Config, err error) {
	if err := c.checkListen(); err != nil {
		return nil, nil, usage("--listen: %w", err)
	}
	if c.tlsCert != "" || c.tlsKey != "" || c.tlsClientCA != "" {
		if security, err = access.ServerTLS(c.tlsCert, c.tlsKey, c.tlsClientCA, log); err != nil {
			return nil, nil, fmt.Errorf("--tls-cert, --tls-key, --tls-client-ca: %w", err)
		}
	}
	if c.tokens != "" {
		if policy, err = access.Load(c.tokens, log); err != nil {
			return nil, nil, fmt.Errorf("--tokens: %w", err)
		}
	}
	return policy, security, nil
}

// checkListen refuses an address that other machines can reach, if requests are not
// encrypted or callers not asked who they are. With --insecure it does not.
func (c *config) checkListen() error {
	harm, remedy := "", ""
	switch {
	case c.insecure:
	case c.tlsCert == "":
		harm, remedy = "without TLS anyone on the way can read and change what passes, bearer tokens too", "give --tls-cert and --tls-key"
	case !c.asksWho():
		harm, remedy = "whoever reaches it may do everything", "give --tokens or --tls-client-ca"
	}
	return access.CheckListen(c.listen, harm, remedy)
}

// asksWho: not everybody may do everything.
func (c *config) asksWho() bool { return c.tokens != "" || c.tlsClientCA != "" }

// warn says what somebody may not have meant.
func (c *config) warn(log *slog.Logger, loopback bool) {
	if wrong := warnings[c.engine.fencing]; wrong != "" {
		log.Warn(wrong)
	}
	if !loopback && !c.asksWho() {
		log.Warn("whoever reaches the port may do everything; see --tokens and --tls-client-ca")
	}
	if !loopback && c.tlsCert == "" {
		log.Warn("no TLS: what passes can be read and changed on its way")
	}
	if most := mostConnections(); c.limits.Connections > most {
		log.Warn("fewer files may be open than --max-connections needs; see ulimit -n", "connections", c.limits.Connections, "possible", most)
	}
}

// otherFiles is how many files may be open beside connections.
const otherFiles = 100

// mostConnections is how many connections the limit of open files allows.
func mostConnections() int64 {
	files, err := kernel.OpenFiles()
	if err != nil || files > math.MaxInt64 {
		return math.MaxInt64
	}
	return max(1, int64(files)-otherFiles)
}

func tokenCommand() *cobra.Command {
	return cli.Command("token NAME", "Make the secret of a bearer token, and its entry for the file of --tokens", cli.Args(1, 1), func(cmd *cobra.Command, args []string) error {
		secret, hash := access.Generate()
		fmt.Fprintln(cmd.OutOrStdout(), secret)
		fmt.Fprintf(cmd.ErrOrStderr(), "  - name: %s\n    sha256: %s\n    rights: [read, write]\n", args[0], hash)
		return nil
	})
}

// serveProfiles serves Go's profiles on an address of their own, if one is given; loopback only, because they
// tell everything that is in memory. It returns how to stop.
func (c *config) serveProfiles(log *slog.Logger) (stop func(), err error) {
	if c.profiles == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", c.profiles)
	if err != nil {
		return nil, fmt.Errorf("--pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	guarded := kvhttp.Guard(mux, kvhttp.Options{Logger: log, Loopback: onLoopback(ln)})
	srv := &http.Server{Handler: guarded, ReadHeaderTimeout: headerTimeout}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) }) // ends by stop
	log.Info("profiles", "url", "http://"+ln.Addr().String()+"/debug/pprof/")
	return func() { srv.Close(); serving.Wait() }, nil
}

// Package etcdserver runs throw-away etcd members in this process, for tests and for the lab: one, or
// one of a cluster. They are tuned to start and stop quickly and to expire leases promptly; unless
// asked they do not sync their files and must not keep data that matters.
package etcdserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/internal/platform/ports"
)

const (
	// etcd raises a lease's TTL to one and a half election timeouts, rounded up
	// to whole seconds. With these a TTL of 1 s stays 1 s.
	tickMs     = 10
	electionMs = 50

	// In a cluster of several a member that is not heard of for so long loses its leadership, which on
	// a busy machine must not be for want of a turn: on two cores, both busy, while 30 others started
	// again and again, 100 ms was too short and 200 enough. A TTL of 1 s stays 1 s up to 666 ms.
	clusterTickMs     = 30
	clusterElectionMs = 300

	readyTimeout = time.Minute

	// etcd's own 128 is too few for a batch of 1,024 operations and their fence.
	maxTxnOps = 2048
)

// Config says where a member keeps its data and where it listens.
type Config struct {
	Name       string    // of the member; "default" if empty
	Dir        string    // for its data, made if missing; must be given
	ClientAddr string    // host:port for clients, who may also ask by JSON; 127.0.0.1:0 if empty, 0 being any free port, without JSON
	PeerAddr   string    // host:port for other members; 127.0.0.1:0 if empty
	Advertised string    // host:port at which the others find it, where that leads to PeerAddr; PeerAddr if empty
	Cluster    string    // all members, as "name=http://host:port,..." of where the others find them; empty: this one alone
	MaxTxnOps  uint      // operations in one Txn, at most; 2048 if 0
	Fsync      bool      // sync files, so that data outlives the machine's crash
	Logs       io.Writer // gets warnings and errors; nil: none, see Start
}

type Server struct {
	etcd    *embed.Etcd
	grpc    *grpc.Server
	inUse   *fileutil.LockedFile
	serving chan *grpc.Server // sent to when the member serves clients
	errs    chan error
	closing atomic.Bool
	closed  sync.Once
}

// Start starts a member and returns when it serves clients; one of several does when most of them have
// been started. A member that is started on the Dir of a closed one goes on with its data; give it the
// Endpoint of the old one as its ClientAddr, and the old clients find it.
//
// Unless Config.Logs is set nothing is logged but why etcd ends the process, on standard error:
// whatever else matters is in the errors of Start and Err, while every normal Close logs errors ("use
// of closed network connection", "http: Server closed") about the listeners that it closes.
func Start(c Config) (*Server, error) {
	s, err := begin(c)
	if err != nil {
		return nil, err
	}
	if err := s.await(c); err != nil {
		return nil, err
	}
	return s, nil
}

// begin starts a member without waiting for the others.
func begin(c Config) (*Server, error) {
	if c.Dir == "" {
		return nil, c.failed(errors.New("no data directory given"))
	}
	// Two members on one directory wait for each other's file locks without end.
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, c.failed(err)
	}
	inUse, err := fileutil.TryLockFile(filepath.Join(c.Dir, "in-use"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, c.failed(fmt.Errorf("lock the data directory: %w", err))
	}

	s := &Server{inUse: inUse, serving: make(chan *grpc.Server, 1), errs: make(chan error, 1)}
	cfg := c.embed()
	cfg.ServiceRegister = func(g *grpc.Server) { s.serving <- g } // follows ReadyNotify
	if s.etcd, err = embed.StartEtcd(cfg); err != nil {
		inUse.Close()
		return nil, c.failed(err)
	}
	go s.report()
	return s, nil
}

// await returns when the member serves clients; where it does not come to that, it is closed.
func (s *Server) await(c Config) (err error) {
	select {
	case s.grpc = <-s.serving:
		return nil
	case err = <-s.errs:
	case <-s.etcd.Server.StopNotify():
		err = errors.New("it stopped while it started")
	case <-time.After(readyTimeout):
		err = fmt.Errorf("it is not ready after %v", readyTimeout)
	}
	s.Close()
	return c.failed(err)
}

func (c Config) failed(err error) error {
	return fmt.Errorf("etcdserver: start in %q, for clients on %s: %w", c.Dir, orAny(c.ClientAddr), err)
}

func (c Config) embed() *embed.Config {
	cfg := embed.NewConfig()
	if c.Name != "" {
		cfg.Name = c.Name
	}
	cfg.Dir = c.Dir
	client := url.URL{Scheme: "http", Host: orAny(c.ClientAddr)}
	peer := url.URL{Scheme: "http", Host: orAny(c.PeerAddr)}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{{Scheme: "http", Host: c.Found()}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	if c.Cluster != "" {
		cfg.InitialCluster = c.Cluster
	}
	if strings.Contains(c.Cluster, ",") {
		cfg.TickMs, cfg.ElectionMs = clusterTickMs, clusterElectionMs
	}
	cfg.UnsafeNoFsync = !c.Fsync
	cfg.EnableGRPCGateway = client.Port() != "0" // it asks the member by this address
	keepPagesOut(cfg)
	cfg.MaxTxnOps = cmp.Or(c.MaxTxnOps, maxTxnOps)

	logs, level := c.Logs, zap.WarnLevel
	if logs == nil {
		logs, level = os.Stderr, zap.DPanicLevel
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewCore(
		zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.Lock(zapcore.AddSync(logs)), level)))
	return cfg
}

// Found is where the other members find this one.
func (c Config) Found() string { return cmp.Or(c.Advertised, orAny(c.PeerAddr)) }

func orAny(addr string) string { return cmp.Or(addr, "127.0.0.1:0") }

// Endpoint returns the host:port on which the member serves clients, with the port that it really has.
func (s *Server) Endpoint() string { return s.etcd.Clients[0].Addr().String() }

// Err receives the first error if the member fails by itself. It is closed by Close.
func (s *Server) Err() <-chan error { return s.errs }

// report passes on etcd's errors, except for those that Close brings about.
func (s *Server) report() {
	defer close(s.errs)
	for err := range s.etcd.Err() {
		if s.closing.Load() {
			continue
		}
		select {
		case s.errs <- err:
		default:
		}
	}
}

// Close stops the member and returns when its port and its directory are free again. It waits for no client:
// connections are cut, and requests that are under way end with an unknown outcome. Further calls do nothing.
func (s *Server) Close() {
	s.closed.Do(func() {
		s.closing.Store(true)
		s.etcd.Server.HardStop()
		// etcd's own Close would wait for the clients to leave, for 5 s.
		if s.grpc != nil {
			s.grpc.Stop()
		}
		s.etcd.Close()
		s.inUse.Close()
	})
}

// ErrOtherPorts says that a cluster cannot have the ports that OnFreePorts chose.
var ErrOtherPorts = errors.New("etcdserver: the cluster needs other ports")

// attempts is for how many choices of ports OnFreePorts goes on.
const attempts = 5

// OnFreePorts calls start with the configurations of n members of a new cluster, each on c's settings,
// with a directory below c.Dir and free ports of 127.0.0.1. Where another process was faster to take one of the
// ports, and where start returns ErrOtherPorts, it does so again, with other ports and with directories that are
// empty once more.
func OnFreePorts[T any](n int, c Config, start func([]Config) (T, error)) (none T, err error) {
	for range attempts {
		configs, err := plan(n, c)
		if err != nil {
			return none, err
		}
		cluster, err := start(configs)
		if !portTaken(err) && !errors.Is(err, ErrOtherPorts) {
			return cluster, err
		}
		for _, config := range configs {
			if err := os.RemoveAll(config.Dir); err != nil {
				return none, err
			}
		}
	}
	return none, fmt.Errorf("etcdserver: no ports for %d members after %d attempts", n, attempts)
}

// portTaken also understands what a process said before it ended.
func portTaken(err error) bool {
	return err != nil && (errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), syscall.EADDRINUSE.Error()))
}

func plan(n int, c Config) ([]Config, error) {
	addrs, err := ports.Free(2 * n)
	if err != nil {
		return nil, err
	}
	configs := make([]Config, n)
	for i := range configs {
		m := c
		m.Name = fmt.Sprintf("etcd%d", i+1)
		m.Dir = filepath.Join(cmp.Or(c.Dir, "."), m.Name)
		m.ClientAddr, m.PeerAddr = addrs[2*i], addrs[2*i+1]
		configs[i] = m
	}
	Join(configs)
	return configs, nil
}

// Join makes members one cluster, in which they find each other where they say.
func Join(configs []Config) {
	var all []string
	for _, c := range configs {
		all = append(all, c.Name+"=http://"+c.Found())
	}
	for i := range configs {
		configs[i].Cluster = strings.Join(all, ",")
	}
}

// keepPagesOut lets no web page read what etcd tells by plain HTTP, its metrics and health: those of other origins,
// nor on loopback those whose own name points here. Nor does any page ask for something by the JSON gateway.
func keepPagesOut(cfg *embed.Config) {
	at := cfg.ListenClientUrls[0]
	cfg.CORS = map[string]struct{}{at.String(): {}} // none would mean all
	if ip, err := netip.ParseAddr(at.Hostname()); at.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		cfg.HostWhitelist = make(map[string]struct{})
		for _, host := range []string{"localhost", "127.0.0.1", "::1", at.Hostname()} {
			cfg.HostWhitelist[host] = struct{}{}
		}
	}
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, ask any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := notOfPage(ctx); err != nil {
				return nil, err
			}
			return next(ctx, ask)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := notOfPage(stream.Context()); err != nil {
				return err
			}
			return next(server, stream)
		}),
	}
}

// notOfPage refuses a request with an Origin, which browsers send for pages. The gateway passes the Origin on.
func notOfPage(ctx context.Context) error {
	if origin := metadata.ValueFromIncomingContext(ctx, "grpcgateway-origin"); len(origin) > 0 {
		return status.Errorf(codes.PermissionDenied, "a web page of %s sent this, and no page is obeyed", origin[0])
	}
	return nil
}

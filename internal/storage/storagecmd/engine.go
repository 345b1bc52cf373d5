package storagecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

const (
	engineMemory = "memory"
	engineBolt   = "bolt"
	engineEtcd   = "etcd"
)

// engineConfig says which engine, and who issues its tokens.
type engineConfig struct {
	kind      string
	data      string
	endpoints []string
	prefix    string
	issuer    []string
	fencing   fencing

	etcdCA, etcdCert, etcdKey string
}

func (c *engineConfig) add(f *pflag.FlagSet) {
	f.StringVar(&c.kind, "engine", cmp.Or(c.kind, engineMemory), "memory, bolt or etcd")
	f.StringVar(&c.data, "data", "", "directory of the bolt engine's file; made if it is missing")
	f.StringSliceVar(&c.endpoints, "endpoints", nil, "addresses of the etcd engine's cluster")
	f.StringVar(&c.prefix, "etcd-prefix", "/fencelab/", "what the etcd engine's keys begin with")
	f.StringSliceVar(&c.issuer, "issuer", nil, "addresses of the etcd whose locks' create revisions are the tokens: one above its revision is refused (422). Without it, one client with a huge token locks out all others")
	c.addTLS(f)
}

func (c *engineConfig) addTLS(f *pflag.FlagSet) {
	f.StringVar(&c.etcdCA, "etcd-ca", "", "file of the authorities (PEM) that vouch for etcd, of --endpoints and --issuer; makes the connection TLS")
	f.StringVar(&c.etcdCert, "etcd-cert", "", "file of a certificate (PEM) to show to etcd")
	f.StringVar(&c.etcdKey, "etcd-key", "", "file of its key (PEM)")
}

type store struct {
	engine kv.Engine
	bound  func(fence.Claim) (fence.Token, error) // nil: none
	ready  []kvhttp.Check
	ends   []func() error
}

func (s *store) close() error {
	var err error
	for _, end := range s.ends {
		err = errors.Join(err, end())
	}
	return err
}

// open opens the engine with options, to which it adds the bound.
func (c *engineConfig) open(o kv.Options) (_ *store, err error) {
	s := new(store)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if len(c.issuer) > 0 {
		client, err := c.dial("issuer", c.issuer)
		if err != nil {
			return nil, err
		}
		s.ends = append(s.ends, client.Close)
		s.bound = etcdlock.Bound(client, issuerTimeout)
		s.ready = append(s.ready, kvhttp.Check{Name: "issuer", Ready: func(ctx context.Context) error {
			_, err := client.Get(ctx, "\x00", clientv3.WithKeysOnly())
			if err != nil {
				return fmt.Errorf("etcd at %s: %w", strings.Join(c.issuer, ", "), err)
			}
			return nil
		}})
		o.Bound = s.bound
	}
	if err := c.openEngine(s, o); err != nil {
		return nil, err
	}
	// The engine is closed before the clients that it uses.
	s.ends = append([]func() error{s.engine.Close}, s.ends...)
	return s, nil
}

// issuerTimeout is how long a request waits for the issuer.
const issuerTimeout = 2 * time.Second

func (c *engineConfig) openEngine(s *store, o kv.Options) (err error) {
	switch {
	case c.kind != engineMemory && c.kind != engineBolt && c.kind != engineEtcd:
		return usage("unknown engine %q, want memory, bolt or etcd", c.kind)
	case c.kind == engineMemory && c.data != "":
		return usage("--data is of no use to the engine memory, which keeps no file; did you mean --engine bolt?")
	case c.kind == engineEtcd && c.data != "":
		return usage("--data is of no use to the engine etcd, which keeps no file; it needs --endpoints")
	case c.kind == engineBolt && c.data == "":
		return usage("the engine bolt needs a directory for its file: --data DIR")
	case c.kind == engineEtcd && len(c.endpoints) == 0:
		return usage("the engine etcd needs the cluster's addresses: --endpoints HOST:PORT,...")
	case c.kind != engineEtcd && len(c.endpoints) > 0:
		return usage("--endpoints is of no use to the engine %s; did you mean --engine etcd, or --issuer?", c.kind)
	case c.kind != engineMemory && c.fencing.inMemory():
		return usage("--fencing %s is for --engine memory alone; the engine %s can have on or off", c.fencing, c.kind)
	}
	switch c.kind {
	case engineMemory:
		if flaw := c.fencing.flaw(); flaw != "" {
			s.engine = kv.NewFlawed(flaw, o)
		} else {
			s.engine = kv.NewMemory(o)
		}
	case engineBolt:
		if s.engine, err = kv.OpenBolt(c.data, o); err != nil {
			return err
		}
	case engineEtcd:
		client, err := c.dial("endpoints", c.endpoints)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, client.Close)
		s.engine = kv.NewEtcd(client, c.prefix, o)
	}
	return nil
}

// How often etcd's members are looked after: one that does not answer is left for another.
const (
	etcdKeepAlive        = 2 * time.Second
	etcdKeepAliveTimeout = 2 * time.Second
)

// dial makes a client of etcd, which connects by itself, and again.
func (c *engineConfig) dial(flag string, endpoints []string) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(), // what matters is in the errors
		DialKeepAliveTime: etcdKeepAlive, DialKeepAliveTimeout: etcdKeepAliveTimeout, PermitWithoutStream: true,
	}
	if c.etcdCA != "" || c.etcdCert != "" || c.etcdKey != "" {
		var err error
		if config.TLS, err = access.ClientTLS(c.etcdCA, c.etcdCert, c.etcdKey, nil); err != nil {
			return nil, fmt.Errorf("--etcd-ca, --etcd-cert, --etcd-key: %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return client, nil
}

package storagecmd

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

type config struct {
	listen  string
	engine  engineConfig
	journal string
	level   slog.LevelVar

	tlsCert, tlsKey, tlsClientCA string
	tokens                       string
	insecure                     bool
	profiles                     string

	limits            kvhttp.Limits
	maxKeys, maxMarks int
}

func (c *config) add(f *pflag.FlagSet) {
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "address to serve; port 0 takes a free one. One that others can reach needs TLS, and --tokens or --tls-client-ca; or --insecure")
	c.engine.add(f)
	f.Var(&c.engine.fencing, "fencing", "off: tokens are not checked. The control, to see what goes wrong without. With the engine memory also observe (what would be refused is done, and told in the journal), and differs (a newer token is refused, too) and forgetful (a delete drops the mark of its scope), which are deliberately wrong")
	f.StringVar(&c.journal, "journal", "", "file for an account of every operation as JSON lines; - is standard output")
	f.TextVar(&c.level, "log-level", &c.level, "debug, info, warn or error")

	f.StringVar(&c.tlsCert, "tls-cert", "", "file of the certificate (PEM) to serve with; read again when it changes")
	f.StringVar(&c.tlsKey, "tls-key", "", "file of its key (PEM)")
	f.StringVar(&c.tlsClientCA, "tls-client-ca", "", "file of authorities (PEM): only clients with a certificate from one of them are served")
	f.StringVar(&c.tokens, "tokens", "", "file that says who may do what, by bearer tokens; see 'storage token'. Read again when it changes")
	f.BoolVar(&c.insecure, "insecure", false, "serve an address that others can reach without TLS, or without asking who they are")
	f.StringVar(&c.profiles, "pprof", "", "address to serve Go's profiles on, like 127.0.0.1:6060; they tell everything")

	f.Int64Var(&c.limits.Body, "max-body", kvhttp.DefaultMaxBody, "largest request body, in bytes")
	f.Int64Var(&c.limits.Key, "max-key", kvhttp.DefaultMaxKey, "longest key, in bytes")
	f.Int64Var(&c.limits.Value, "max-value", 0, "largest value, in bytes; 0: what fits a body")
	f.Int64Var(&c.limits.Memory, "max-memory", kvhttp.DefaultMaxMemory, "bytes that request bodies and answers may take up together while they are under way")
	f.Int64Var(&c.limits.Connections, "max-connections", 0, fmt.Sprintf("connections that may be open; 0: %d, or what ulimit -n allows", kvhttp.DefaultMaxConnections))
	f.Int64Var(&c.limits.PerClient, "max-connections-per-client", 0, "of these, from one address; 0: three quarters, so that no one can take all")
	f.Int64Var(&c.limits.Rate, "rate", 0, "requests a second that one client may make in the long run; 0: any number")
	f.IntVar(&c.maxKeys, "max-keys", 0, "keys that may have a value; 0: any number")
	f.IntVar(&c.maxMarks, "max-marks", 0, "scopes that may have a mark of their own; 0: any number")
}

func (c *config) check() error {
	for name, n := range map[string]int64{"max-body": c.limits.Body, "max-key": c.limits.Key, "max-memory": c.limits.Memory} {
		if n < 1 {
			return usage("--%s is %d, want 1 or more", name, n)
		}
	}
	for name, n := range map[string]int64{"max-value": c.limits.Value, "max-connections": c.limits.Connections, "max-connections-per-client": c.limits.PerClient, "rate": c.limits.Rate, "max-keys": int64(c.maxKeys), "max-marks": int64(c.maxMarks)} {
		if n < 0 {
			return usage("--%s is %d, want 0, which is no limit, or more", name, n)
		}
	}
	if c.limits.Memory < c.limits.Body {
		return usage("--max-memory is %d bytes, less than one body may have: --max-body is %d", c.limits.Memory, c.limits.Body)
	}
	if c.engine.kind == engineEtcd && c.maxKeys+c.maxMarks > 0 {
		return usage("--max-keys and --max-marks are of no use to the engine etcd, whose keys many storages share; etcd has --quota-backend-bytes")
	}
	if c.profiles != "" && access.CheckListen(c.profiles, "profiles tell everything") != nil {
		return usage("--pprof is %s: want an address that only this machine can reach, like 127.0.0.1:6060", c.profiles)
	}
	return nil
}

func usage(format string, args ...any) error {
	return &cli.ExitError{Code: 2, Err: fmt.Errorf(format, args...)}
}

// fencing is a flag that says how tokens are checked, as scenarios spell it. The zero value is as fencingOn.
type fencing string

const (
	fencingOn        fencing = "on"
	fencingOff       fencing = "off"
	fencingObserve   fencing = "observe"
	fencingDiffers   fencing = fencing(kv.FlawDiffers)
	fencingForgetful fencing = fencing(kv.FlawForgetful)
)

// warnings are what is wrong with a storage that checks tokens so.
var warnings = map[fencing]string{
	fencingOff:       "fencing is off: stale writes are admitted",
	fencingObserve:   "fencing only observes: what would be refused is done, and told in the journal",
	fencingDiffers:   "fencing is flawed on purpose: newer tokens are refused, too",
	fencingForgetful: "fencing is flawed on purpose: a delete drops the mark of its scope, and then stale writes are admitted",
}

func (f *fencing) String() string { return string(*f) }

func (f *fencing) Set(s string) error {
	v := fencing(s)
	if _, wrong := warnings[v]; !wrong && v != fencingOn {
		return errors.New(`want "on" or "off", or with the engine memory "observe", "differs" or "forgetful"`)
	}
	*f = v
	return nil
}

func (*fencing) Type() string { return "on|off|observe|differs|forgetful" }

// inMemory reports whether only the engine memory can check tokens so.
func (f fencing) inMemory() bool { return f == fencingObserve || f.flaw() != "" }

// flaw is the engine's; empty where it has none.
func (f fencing) flaw() kv.Flaw {
	if f == fencingDiffers || f == fencingForgetful {
		return kv.Flaw(f)
	}
	return ""
}

package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// TestListen: what others can reach is served with TLS to those who say who they
// are, or where somebody says that they want it without.
func TestListen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		p := w.start("storage", "--listen", addr)
		p.want(2)
		p.says("--tls-cert", "--insecure", "127.0.0.1")
		p = w.start("storage", "--listen", addr, "--tls-cert", "cert", "--tls-key", "key")
		p.want(2)
		p.says("may do everything", "--tokens", "--tls-client-ca", "--insecure", "127.0.0.1")
		for _, guard := range []string{"--tokens", "--tls-client-ca", "--insecure"} {
			args := []string{"--listen", addr, "--tls-cert", "/no/such/cert", "--tls-key", "key", guard}
			if guard != "--insecure" {
				args = append(args, "/no/such/file")
			}
			p = w.start("storage", args...)
			p.want(1)
			p.says("--tls-cert, --tls-key, --tls-client-ca: ") // the address is taken
		}
		for _, flag := range []string{"--listen", "--peer"} {
			p = w.start("gcsim", "etcd", "--name", "a", "--listen", "127.0.0.1:0", "--peer", "127.0.0.1:0", "--initial-cluster", "a=http://127.0.0.1:0", flag, addr)
			p.want(2)
			p.says(flag+": ", "may do everything", "--insecure", "127.0.0.1")
		}
	}
	p := w.start("storage", "--listen", "0.0.0.0:0", "--insecure")
	p.await("storage serves")
	p.await("whoever reaches the port may do everything")
	p.await("no TLS")
	w.storage("--listen", "[::1]:0")
	etcd := w.start("gcsim", "etcd", "--listen", "0.0.0.0:0", "--insecure")
	etcd.await("etcd serves")
	etcd.signal(syscall.SIGTERM)
	etcd.want(0)
}

// TestGuardFlags: what cannot be used is told, with the flag.
func TestGuardFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for args, says := range map[string]string{
		"--tokens /no/such/file":                           "--tokens: stat /no/such/file",
		"--tls-cert /no/such/file":                         "--tls-cert, --tls-key, --tls-client-ca: TLS needs two files",
		"--tls-client-ca /no/such/file":                    "TLS needs two files",
		"--tls-cert /no/such/c --tls-key /no/k":            "/no/such/c",
		"--engine etcd":                                    "--endpoints HOST:PORT",
		"--endpoints 127.0.0.1:1":                          "did you mean --engine etcd",
		"--engine etcd --data x":                           "it needs --endpoints",
		"--engine etcd --endpoints a --max-keys 1":         "--quota-backend-bytes",
		"--pprof 0.0.0.0:0":                                "only this machine can reach",
		"--rate -1":                                        "want 0, which is no limit",
		"restore --engine memory nothing":                  "--engine bolt or --engine etcd",
		"restore --engine bolt --data x nothing":           "open nothing: no such file",
		"restore --engine bolt --data x --floor 0 nothing": "--floor",
		"floor":                     "--issuer says who gives out the tokens",
		"floor x":                   "invalid token",
		"floor 5 --locks /a":        "not both",
		"floor 5 --storage nowhere": "want a URL",
	} {
		p := w.start("storage", strings.Fields(args)...)
		if p.end() == 0 {
			t.Errorf("storage %s: exit status 0", args)
		}
		p.says(says)
	}
}

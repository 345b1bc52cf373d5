package access

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const lookupTimeout = 5 * time.Second

// CheckListen is nil where addr, "host:port", may be served: on loopback always,
// elsewhere with TLS, or where someone says that they want it insecure. The host
// may be an IP address, a name, all of whose addresses count, or empty, which
// means all of the machine's.
func CheckListen(addr string, tls, insecure bool) error {
	return checkListen(addr, tls, insecure, net.DefaultResolver.LookupNetIP)
}

func checkListen(addr string, tls, insecure bool, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address to listen on, want host:port: %w", addr, err)
	}
	if tls || insecure {
		return nil
	}
	if host == "" {
		return exposed(addr, "all of this machine's addresses")
	}
	var ips []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = append(ips, ip)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		if ips, err = lookup(ctx, "ip", host); err != nil {
			return fmt.Errorf("cannot tell whether %s is loopback: %w; name an IP address, like 127.0.0.1", addr, err)
		}
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return exposed(addr, ip.String())
		}
	}
	return nil
}

func exposed(addr, what string) error {
	return fmt.Errorf("%s is more than loopback (%s), and without TLS anyone on the way can read and change what passes, bearer tokens too; "+
		"give --tls-cert and --tls-key, or listen on 127.0.0.1, or say --insecure if something in front keeps others out", addr, what)
}

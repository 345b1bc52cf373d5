package access

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const lookupTimeout = 5 * time.Second

// CheckListen is nil where addr, "host:port", may be served: on loopback always, elsewhere where nothing is
// said to be the harm of it. Otherwise the error says the harm, and what to do: the remedies, or loopback, or
// --insecure. The host may be an IP address, a name, all of whose addresses count, or empty, which means all
// of the machine's.
func CheckListen(addr, harm string, remedies ...string) error {
	return checkListen(addr, harm, remedies, net.DefaultResolver.LookupNetIP)
}

func checkListen(addr, harm string, remedies []string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address to listen on, want host:port: %w", addr, err)
	}
	if harm == "" {
		return nil
	}
	exposed := func(what string) error {
		remedies = append(remedies, "listen on 127.0.0.1", "say --insecure if something else keeps others out")
		return fmt.Errorf("%s is more than loopback (%s), and %s: %s", addr, what, harm, strings.Join(remedies, ", or "))
	}
	if host == "" {
		return exposed("all of this machine's addresses")
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
			return exposed(ip.String())
		}
	}
	return nil
}

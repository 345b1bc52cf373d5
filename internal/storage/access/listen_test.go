package access

import (
	"context"
	"net/netip"
	"strings"
	"testing"
)

func TestCheckListen(t *testing.T) {
	const exposed = "and it is open: lock it, or listen on 127.0.0.1, or say --insecure"
	for addr, want := range map[string]string{
		"127.0.0.1:8080":            "",
		"127.9.9.9:0":               "",
		"[::1]:8080":                "",
		"[::ffff:127.0.0.1]:8080":   "",
		"localhost:8080":            "",
		":8080":                     exposed,
		"0.0.0.0:8080":              exposed,
		"[::]:8080":                 exposed,
		"[::ffff:0.0.0.0]:8080":     exposed,
		"192.168.1.7:8080":          exposed,
		"10.0.0.1:8080":             exposed,
		"8.8.8.8:8080":              exposed,
		"[2001:db8::1]:8080":        exposed,
		"[fe80::1%lo]:8080":         exposed,
		"8080":                      "want host:port",
		"":                          "want host:port",
		"127.0.0.1":                 "want host:port",
		"::1:8080":                  "want host:port",
		"no-such-host.invalid:8080": "cannot tell whether",
	} {
		err := CheckListen(addr, "it is open", "lock it")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
		if want == exposed || want == "" {
			if err := CheckListen(addr, ""); err != nil {
				t.Errorf("%q without harm: %v", addr, err)
			}
		}
	}
}

// TestAllAddressesOfANameCount: loopback is a name only if all that it stands for is.
func TestAllAddressesOfANameCount(t *testing.T) {
	for list, want := range map[string]string{
		"127.0.0.1":          "",
		"127.0.0.1 ::1":      "",
		"192.168.1.7":        "192.168.1.7",
		"127.0.0.1 10.0.0.1": "10.0.0.1",
		"::1 2001:db8::1":    "2001:db8::1",
	} {
		err := checkListen("name:8080", "it is open", nil, func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if host != "name" {
				t.Errorf("looks up %q", host)
			}
			var ips []netip.Addr
			for _, ip := range strings.Fields(list) {
				ips = append(ips, netip.MustParseAddr(ip))
			}
			return ips, nil
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}

package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"
)

// ServerTLS serves with the certificate, and its key, in two PEM files. With a file of certificate
// authorities, clientCA, only clients with a certificate from one of them get in; without (""), any client.
//
// Changed files are in force a second after, for new connections; those that are open stay. The pair and the
// authorities are re-read each for itself. Where they cannot be used, what was there before stays, and an error is
// logged; so it is between the replacement of a certificate and that of its key. Nil log: nothing is logged.
//
// TLS 1.3 is what clients of today get; 1.2 is the least, which Go limits to ciphers that are sound, because
// proxies and long-lived systems still have nothing newer. There is no HTTP/2: its many streams on a
// connection would make the memory of one hard to bound.
func ServerTLS(certFile, keyFile, clientCA string, log *slog.Logger) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("TLS needs two files: a certificate and its key")
	}
	pair, err := watchPair(certFile, keyFile, log)
	if err != nil {
		return nil, err
	}
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	var authorities *watched[x509.CertPool]
	if clientCA != "" {
		if authorities, err = watchAuthorities(clientCA, log); err != nil {
			return nil, err
		}
		base.ClientAuth = tls.RequireAndVerifyClientCert
		// Each connection shows its certificate anew: a ticket from before would
		// speak for one whose authority is gone.
		base.SessionTicketsDisabled = true
	}
	server := base.Clone()
	server.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := base.Clone()
		c.Certificates = []tls.Certificate{*pair.get()}
		if authorities != nil {
			c.ClientCAs = authorities.get()
		}
		return c, nil
	}
	return server, nil
}

// NotAfter is when the certificate ends that a config of ServerTLS serves with now.
func NotAfter(server *tls.Config) time.Time {
	c, err := server.GetConfigForClient(nil)
	if err != nil || len(c.Certificates) == 0 {
		return time.Time{}
	}
	return c.Certificates[0].Leaf.NotAfter
}

// ClientTLS is for a client of such a server. ca is a file of the authorities that may vouch for the server,
// read once; "" means those of the system. With certFile and keyFile the client shows a certificate, which is
// re-read as in ServerTLS; both "" mean none.
func ClientTLS(ca, certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		authorities, err := watchAuthorities(ca, log)
		if err != nil {
			return nil, err
		}
		c.RootCAs = authorities.get()
	}
	if (certFile == "") != (keyFile == "") {
		return nil, errors.New("a client's certificate needs two files: the certificate and its key")
	}
	if certFile != "" {
		pair, err := watchPair(certFile, keyFile, log)
		if err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(), nil }
	}
	return c, nil
}

func watchPair(certFile, keyFile string, log *slog.Logger) (*watched[tls.Certificate], error) {
	return watch(log, func(contents [][]byte) (*tls.Certificate, error) {
		c, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("%s and %s are no certificate and its key: %w", certFile, keyFile, err)
		}
		if now := time.Now(); now.Before(c.Leaf.NotBefore) || now.After(c.Leaf.NotAfter) {
			return nil, fmt.Errorf("%s: the certificate is valid from %s to %s only; is it the right one, and the clock right?",
				certFile, c.Leaf.NotBefore.Format(time.RFC3339), c.Leaf.NotAfter.Format(time.RFC3339))
		}
		return &c, nil
	}, certFile, keyFile)
}

func watchAuthorities(file string, log *slog.Logger) (*watched[x509.CertPool], error) {
	return watch(log, func(contents [][]byte) (*x509.CertPool, error) {
		pool, err := parseAuthorities(contents[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return pool, nil
	}, file)
}

// parseAuthorities wants every block to be a whole certificate; the standard
// library's own reader drops those that it does not understand.
func parseAuthorities(rest []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for n := 1; ; n++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && bytes.Contains(rest, []byte("-----BEGIN")):
			return nil, fmt.Errorf("PEM block %d is broken or cut off", n)
		case block == nil && n == 1:
			return nil, errors.New("no certificate in it, want PEM blocks of type CERTIFICATE")
		case block == nil:
			return pool, nil
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("PEM block %d is a %s, want only certificates", n, block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d: %w", n, err)
		}
		pool.AddCert(c)
	}
}

const lookupTimeout = 5 * time.Second

// CheckListen is nil where addr, "host:port", may be served: on loopback always, elsewhere where nothing is said to
// be the harm of it. Otherwise the error says the harm, and what to do: the remedies, or loopback, or --insecure. The
// host may be an IP address, a name, all of whose addresses count, or empty, which means all of the machine's.
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

package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	certPEM, _ := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.pem = certPEM
	return a
}

// leaf is a certificate for a server on loopback, or for a client, and its key.
func (a *authority) leaf(t *testing.T, name string, end time.Time) (cert, key string) {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

// sign fills in what all certificates have. The first that an authority signs is
// its own.
func (a *authority) sign(t *testing.T, c *x509.Certificate) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	c.NotBefore = time.Now().Add(-2 * time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	if a.cert == nil {
		a.cert, a.key = c, k
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert == c {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// files are the certificates of a test, in a directory.
type files struct{ dir string }

func (f files) name(what string) string { return filepath.Join(f.dir, what+".pem") }

func (f files) pair(t *testing.T, what, cert, key string) {
	t.Helper()
	write(t, f.name(what), cert)
	write(t, f.name(what+"-key"), key)
}

// serve is a real HTTPS server on loopback; the answer is the name in the
// client's certificate.
func serve(t *testing.T, config *tls.Config, serveTLS bool) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, c := range r.TLS.PeerCertificates {
				io.WriteString(w, c.Subject.CommonName)
			}
		}),
		TLSConfig: config,
		ErrorLog:  log.New(io.Discard, "", 0), // refused handshakes are expected
	}
	served := make(chan error, 1)
	go func() {
		if serveTLS {
			served <- srv.ServeTLS(ln, "", "")
		} else {
			served <- srv.Serve(tls.NewListener(ln, config))
		}
	}()
	t.Cleanup(func() {
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "https://" + ln.Addr().String()
}

// get asks on a new connection. It returns the name in the server's certificate
// and the answer.
func get(url string, config *tls.Config) (server, answer string, err error) {
	tr := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 1 {
		return "", "", fmt.Errorf("the server speaks %s", resp.Proto)
	}
	b, err := io.ReadAll(resp.Body)
	return resp.TLS.PeerCertificates[0].Subject.CommonName, string(b), err
}

func clientTLS(t *testing.T, ca, cert, key string) *tls.Config {
	t.Helper()
	c, err := ClientTLS(ca, cert, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

package access

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	checkEvery = 50 * time.Millisecond
	os.Exit(m.Run())
}

func TestHTTPS(t *testing.T) {
	f := files{t.TempDir()}
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	write(t, f.name("ca"), ca.pem)
	write(t, f.name("other"), other.pem)
	cert, key := ca.leaf(t, "server", time.Time{})
	f.pair(t, "server", cert, key)
	config, err := ServerTLS(f.name("server"), f.name("server-key"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if ends := NotAfter(config); time.Until(ends) <= 0 || time.Until(ends) > 366*24*time.Hour {
		t.Errorf("the certificate ends at %v", ends)
	}
	for _, serveTLS := range []bool{false, true} {
		url := serve(t, config.Clone(), serveTLS)
		trusting := clientTLS(t, f.name("ca"), "", "")
		if server, _, err := get(url, trusting); err != nil || server != "server" {
			t.Errorf("got %q, %v", server, err)
		}
		if _, _, err := get(url, clientTLS(t, f.name("other"), "", "")); err == nil {
			t.Error("a client accepts a server of an authority that it does not know")
		}
		if _, _, err := get(url, clientTLS(t, "", "", "")); err == nil {
			t.Error("a client with the system's authorities accepts the test's")
		}
		addr := strings.TrimPrefix(url, "https://")
		for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			c := trusting.Clone()
			c.MinVersion, c.MaxVersion = version, version
			conn, err := tls.Dial("tcp", addr, c)
			if (err == nil) != want {
				t.Errorf("%s: %v", tls.VersionName(version), err)
			}
			if err == nil {
				conn.Close()
			}
		}
		c := trusting.Clone()
		c.NextProtos = []string{"h2"}
		if conn, err := tls.Dial("tcp", addr, c); err == nil {
			t.Errorf("HTTP/2 is agreed on: %q", conn.ConnectionState().NegotiatedProtocol)
			conn.Close()
		}
		plain, err := http.Get("http://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP gets %s", plain.Status)
		}
	}
}

func TestMutualTLS(t *testing.T) {
	f := files{t.TempDir()}
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	write(t, f.name("ca"), ca.pem)
	for what, by := range map[string]*authority{"server": ca, "client": ca, "stranger": other} {
		cert, key := by.leaf(t, what, time.Time{})
		f.pair(t, what, cert, key)
	}
	config, err := ServerTLS(f.name("server"), f.name("server-key"), f.name("ca"), nil)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, config, false)
	if _, answer, err := get(url, clientTLS(t, f.name("ca"), f.name("client"), f.name("client-key"))); err != nil || answer != "client" {
		t.Errorf("got %q, %v", answer, err)
	}
	if _, answer, err := get(url, clientTLS(t, f.name("ca"), "", "")); err == nil {
		t.Errorf("a client without a certificate got %q", answer)
	}
	if _, answer, err := get(url, clientTLS(t, f.name("ca"), f.name("stranger"), f.name("stranger-key"))); err == nil {
		t.Errorf("a client of another authority got %q", answer)
	}
	resumed := clientTLS(t, f.name("ca"), f.name("client"), f.name("client-key"))
	resumed.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for range 3 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), resumed)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		io.Copy(io.Discard, conn) // a ticket would come with the answer
		if conn.ConnectionState().DidResume {
			t.Error("a session is resumed: its certificate is from before")
		}
		conn.Close()
	}
}

// TestCertificatesAreReadAgain replaces, while a server serves, first the pair of
// the server, then the authorities of clients, then the pair of a client; each by
// a broken one before.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	f := files{t.TempDir()}
	ca, old, next := newAuthority(t, "ca"), newAuthority(t, "old"), newAuthority(t, "next")
	write(t, f.name("ca"), ca.pem)
	write(t, f.name("clients-ca"), old.pem)
	cert, key := ca.leaf(t, "server1", time.Time{})
	f.pair(t, "server", cert, key)
	cert, key = old.leaf(t, "client1", time.Time{})
	f.pair(t, "client", cert, key)
	nextCert, nextKey := next.leaf(t, "client2", time.Time{})
	f.pair(t, "client-next", nextCert, nextKey)

	var log logged
	config, err := ServerTLS(f.name("server"), f.name("server-key"), f.name("clients-ca"), log.logger())
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, config, false)
	var clientLog logged
	client, err := ClientTLS(f.name("ca"), f.name("client"), f.name("client-key"), clientLog.logger())
	if err != nil {
		t.Fatal(err)
	}
	want := func(server, answer string) {
		t.Helper()
		if gotServer, got, err := get(url, client); err != nil || gotServer != server || got != answer {
			t.Errorf("server %q, client %q, %v; want %q, %q", gotServer, got, err, server, answer)
		}
	}
	told := func(l *logged, what string) {
		t.Helper()
		eventually(t, "an error logged: "+what, func() bool {
			want := l.String()
			get(url, client) // a use, so that the files are looked at
			return strings.Contains(want, what)
		})
	}
	want("server1", "client1")

	cert, key = ca.leaf(t, "server2", time.Time{})
	write(t, f.name("server"), cert[:len(cert)/2])
	told(&log, "are no certificate and its key")
	want("server1", "client1")
	write(t, f.name("server"), cert) // with the key of the first
	told(&log, "private key does not match public key")
	want("server1", "client1")
	write(t, f.name("server-key"), key)
	eventually(t, "the server has its new certificate", func() bool {
		server, _, err := get(url, client)
		return err == nil && server == "server2"
	})
	expired, expiredKey := ca.leaf(t, "server3", time.Now().Add(-time.Hour))
	f.pair(t, "server", expired, expiredKey)
	told(&log, "the certificate is valid from")
	want("server2", "client1")

	write(t, f.name("clients-ca"), old.pem+next.pem[:len(next.pem)/2])
	told(&log, "PEM block 2 is broken or cut off")
	want("server2", "client1")
	write(t, f.name("clients-ca"), next.pem)
	eventually(t, "a client of the old authority is refused", func() bool {
		_, _, err := get(url, client)
		return err != nil
	})
	if _, answer, err := get(url, clientTLS(t, f.name("ca"), f.name("client-next"), f.name("client-next-key"))); err != nil || answer != "client2" {
		t.Errorf("a client of the new authority got %q, %v", answer, err)
	}
	write(t, f.name("client"), "none")
	told(&clientLog, "are no certificate and its key")
	f.pair(t, "client", nextCert, nextKey)
	eventually(t, "the client shows its new certificate", func() bool {
		_, answer, err := get(url, client)
		return err == nil && answer == "client2"
	})
	if strings.Contains(log.String()+clientLog.String(), strings.Split(key, "\n")[1]) {
		t.Error("a key is in the log")
	}
}

// TestTokensOverHTTPS is all together: what the storage's handler does.
func TestTokensOverHTTPS(t *testing.T) {
	t.Parallel()
	f := files{t.TempDir()}
	ca := newAuthority(t, "ca")
	write(t, f.name("ca"), ca.pem)
	cert, key := ca.leaf(t, "server", time.Time{})
	f.pair(t, "server", cert, key)
	secret, hash := Generate()
	tokens := tokensFile(t, one("reader", hash))
	var log logged
	policy, err := Load(tokens, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	config, err := ServerTLS(f.name("server"), f.name("server-key"), "", log.logger())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: guarded(policy)}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(t, f.name("ca"), "", "")}}
	t.Cleanup(client.CloseIdleConnections)
	status := func(method, secret string) string {
		t.Helper()
		r, err := http.NewRequest(method, "https://"+ln.Addr().String()+"/v1/kv/key", nil)
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if secret != "" && bytes.Contains(body, []byte(secret)) {
			t.Errorf("the answer repeats the secret: %s", body)
		}
		return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("WWW-Authenticate"))
	}
	for _, c := range []struct{ method, secret, want string }{
		{"GET", secret, "200 "},
		{"PUT", secret, `403 Bearer realm="storage", error="insufficient_scope"`},
		{"GET", "", `401 Bearer realm="storage"`},
		{"GET", "unknown", `401 Bearer realm="storage", error="invalid_token"`},
	} {
		if got := status(c.method, c.secret); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.method, c.secret, got, c.want)
		}
	}
	// On the connection that is open.
	write(t, tokens, "tokens: none\n")
	eventually(t, "the broken file is told", func() bool {
		if got := status("GET", secret); got != "200 " {
			t.Fatalf("with a broken file: %s", got)
		}
		return strings.Contains(log.String(), "want a list")
	})
	_, otherHash := Generate()
	write(t, tokens, one("reader", otherHash))
	eventually(t, "the token is no longer valid", func() bool {
		return strings.HasPrefix(status("GET", secret), "401 ")
	})
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), hash) || strings.Contains(log.String(), otherHash) {
		t.Errorf("something secret is in the log:\n%s", log.String())
	}
}

// guarded asks a policy as the storage's handler does.
func guarded(policy *Policy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		right := Write
		if r.Method == http.MethodGet {
			right = Read
		}
		who, err := policy.Authenticate(r)
		status := http.StatusUnauthorized
		if err == nil {
			status, err = http.StatusForbidden, who.May(right, "/lock", "key")
		}
		if err != nil {
			w.Header().Set("WWW-Authenticate", Challenge(err))
			http.Error(w, err.Error(), status)
		}
	})
}

func TestWrongCertificates(t *testing.T) {
	f := files{t.TempDir()}
	ca := newAuthority(t, "ca")
	cert, key := ca.leaf(t, "server", time.Time{})
	f.pair(t, "good", cert, key)
	old, oldKey := ca.leaf(t, "old", time.Now().Add(-time.Hour))
	f.pair(t, "old", old, oldKey)
	for what, text := range map[string]string{
		"empty": "", "text": "no PEM\n", "key": key, "cut": ca.pem + cert[:len(cert)-40],
		"garbage": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
	} {
		write(t, f.name(what), text)
	}
	for _, c := range []struct{ cert, key, ca, want string }{
		{"", "", "", "needs two files"},
		{"good", "", "", "needs two files"},
		{"missing", "good-key", "", "missing.pem: no such file"},
		{"good", "missing", "", "missing.pem: no such file"},
		{"good", "good", "", "good.pem are no certificate and its key"},
		{"good", "old-key", "", "private key does not match"},
		{"old", "old-key", "", "old.pem: the certificate is valid from"},
		{"good", "good-key", "missing", "missing.pem: no such file"},
		{"good", "good-key", "empty", "empty.pem: no certificate in it"},
		{"good", "good-key", "text", "text.pem: no certificate in it"},
		{"good", "good-key", "key", "key.pem: PEM block 1 is a PRIVATE KEY"},
		{"good", "good-key", "cut", "cut.pem: PEM block 2 is broken or cut off"},
		{"good", "good-key", "garbage", "garbage.pem: PEM block 1: x509:"},
	} {
		path := func(what string) string {
			if what == "" {
				return ""
			}
			return f.name(what)
		}
		_, err := ServerTLS(path(c.cert), path(c.key), path(c.ca), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q, %q: %v, want %s", c.cert, c.key, c.ca, err, c.want)
		}
		if c.cert == "" && c.key == "" { // a client needs none
			continue
		}
		if _, err := ClientTLS(path(c.ca), path(c.cert), path(c.key), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("client %q, %q, %q: %v, want %s", c.cert, c.key, c.ca, err, c.want)
		}
	}
	if _, err := ServerTLS(f.name("missing"), f.name("good-key"), "", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

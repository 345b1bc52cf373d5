package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// at is the service where a user says that it is.
func at(t *testing.T, where string) (*service.Service, []string) {
	t.Helper()
	s, endpoints, err := redis.Service().At(where)
	if err != nil {
		t.Fatal(err)
	}
	return s, endpoints
}

// run makes a run, and holds it to what the scenario expects and to what a history is.
func run(t *testing.T, s *scenario.Scenario, v *scenario.Variant, of *service.Service, endpoints []string) []history.Event {
	t.Helper()
	return labtest.Run(t, s, v, lab.Options{Services: []*service.Service{of}, Endpoints: endpoints})
}

// TestStories tells them on a real server and on the embedded one, but for those with clients in
// Java, which take long.
func TestStories(t *testing.T) {
	embedded, _ := at(t, "embedded")
	for name, of := range map[string]*service.Service{"redis": redis.Service(), "embedded": embedded} {
		t.Run(name, func(t *testing.T) {
			if name == "redis" && redisproc.Program() == "" {
				need.Program(t, "redis-server", "to tell the stories on")
			}
			stories := labtest.InGo(of, labtest.Stories(t, of))
			labtest.Each(t, stories, func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
				if lacks := of.Lacks(v); lacks != "" {
					t.Log(lacks)
					return
				}
				run(t, s, v, of, nil)
			})
		})
	}
}

// TestLacks: only what needs a memory is left out, and only on the embedded server.
func TestLacks(t *testing.T) {
	embedded, _ := at(t, "embedded")
	for _, s := range services.Parse(t, "testdata/restart.yaml") {
		for i := range s.Variants {
			v := &s.Variants[i]
			if lacks := embedded.Lacks(v); (lacks == "") != (v.Name == "none") {
				t.Errorf("%s lacks %q", v.Name, lacks)
			}
			if v.Own == "" {
				t.Errorf("%s needs no Redis of its own", v.Name)
			}
		}
	}
}

// TestRealLacks: where a real server is there, no scenario is left out.
func TestRealLacks(t *testing.T) {
	if redisproc.Program() == "" {
		need.Program(t, "redis-server", "to be told what it lacks")
	}
	for _, s := range services.Parse(t, "../../../scenarios/redis/*.yaml") {
		for i := range s.Variants {
			v := &s.Variants[i]
			if lacks := redis.Service().Lacks(v); lacks != "" {
				t.Errorf("%s/%s lacks %q", s.Name, v.Name, lacks)
			}
		}
	}
	s, err := story("persistence: always", "", "jump redis1 for 1m")
	if err != nil {
		t.Fatal(err)
	}
	if lacks := redis.Service().Lacks(&s.Variants[0]); !strings.Contains(lacks, "a clock that jumps") {
		t.Errorf("a clock that jumps, with persistence: lacks %q", lacks)
	}
}

// TestJump: a clock jumps also where a real server is there, whose clock cannot.
func TestJump(t *testing.T) {
	labtest.Each(t, services.Parse(t, "../../../scenarios/redis/17-clock-jump.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestNaiveRenewsNothing: a recipe of several nodes is refused with a watchdog, which would
// renew the first node's key alone.
func TestNaiveRenewsNothing(t *testing.T) {
	story := `title: t
world:
  redis: {nodes: 3}
clients:
  client1: {lock: /l, by: redlock-naive, renew: watchdog}
steps:
  - client1: lock
variants:
  v:
    expect: {verdict: safe}
`
	language := lab.Language([]*service.Service{redis.Service()})
	if _, err := language.Parse("t.yaml", "t", []byte(story)); err == nil || !strings.Contains(err.Error(), "redlock-naive renews nothing") {
		t.Errorf("with a watchdog: %v", err)
	}
	if _, err := language.Parse("t.yaml", "t", []byte(strings.Replace(story, ", renew: watchdog", "", 1))); err != nil {
		t.Errorf("without: %v", err)
	}
}

// TestReadAgainNeedsAToken: a recipe that counts none is refused.
func TestReadAgainNeedsAToken(t *testing.T) {
	story := `title: t
world:
  redis: {}
clients:
  client1: {lock: /l, by: redisson, token: read-again}
steps:
  - client1: lock
variants:
  v:
    expect: {verdict: safe}
`
	language := lab.Language([]*service.Service{redis.Service()})
	if _, err := language.Parse("t.yaml", "t", []byte(story)); err == nil || !strings.Contains(err.Error(), "redisson counts no token") {
		t.Errorf("without a token: %v", err)
	}
	if _, err := language.Parse("t.yaml", "t", []byte(strings.Replace(story, "redisson", "redisson-fenced", 1))); err != nil {
		t.Errorf("with one: %v", err)
	}
}

// TestRedisThatIsThere: a run uses it below a prefix of its own, by its password, and
// leaves nothing in it.
func TestRedisThatIsThere(t *testing.T) {
	const password = "s3cret"
	server := redistest.Real(t, "--repl-diskless-sync-delay", "0")
	client := redistest.Connect(t, server)
	for _, setting := range []string{"requirepass", "masterauth"} {
		if err := client.ConfigSet(t.Context(), setting, password).Err(); err != nil {
			t.Fatal(err)
		}
	}
	of, endpoints := at(t, "redis://:wrong@"+server.Addr)
	if err := of.Reach(t.Context(), endpoints); err == nil || !strings.Contains(err.Error(), server.Addr) {
		t.Errorf("with a wrong password: %v", err)
	}
	of, endpoints = at(t, "redis://:"+password+"@"+server.Addr)
	if err := of.Reach(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	s := services.Parse(t, "testdata/queue.yaml")[0]
	for _, e := range run(t, s, &s.Variants[0], of, endpoints) {
		if e.Kind == history.KindGranted && !strings.HasPrefix(e.Scope, "/gcsim-") {
			t.Errorf("%+v: its lock has no prefix of the run", e)
		}
	}
	if keys, err := client.Keys(t.Context(), "*gcsim*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("the run has left %q (%v)", keys, err)
	}
}

// TestTLS: a Redis that is there already can want TLS and a password. All parts of a run go
// that way, and who does not know the certificate is told so, once.
func TestTLS(t *testing.T) {
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free[0])
	dir := t.TempDir()
	certificate(t, dir)
	server := redistest.Real(t, append(redisproc.Settings(dir, "none"), "--repl-diskless-sync-delay", "0", "--tls-port", port,
		"--tls-cert-file", dir+"/cert.pem", "--tls-key-file", dir+"/key.pem", "--tls-auth-clients", "no")...)
	if err := redistest.Connect(t, server).ConfigSet(t.Context(), "requirepass", "word").Err(); err != nil {
		t.Fatal(err)
	}
	url := "rediss://:word@" + free[0]
	of, endpoints := at(t, url)
	if err := of.Reach(t.Context(), endpoints); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody signed: %v", err)
	}
	of, endpoints = at(t, url+"?skip_verify=true")
	if err := of.Reach(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	s := services.Parse(t, "testdata/queue.yaml")[0]
	run(t, s, &s.Variants[0], of, endpoints)
	t.Run("java", func(t *testing.T) {
		javatest.Need(t)
		inTurn := services.Parse(t, "testdata/java/recipes.yaml")[0]
		for _, name := range []string{"plain", "spring"} {
			i := slices.IndexFunc(inTurn.Variants, func(v scenario.Variant) bool { return v.Name == name })
			run(t, inTurn, &inTurn.Variants[i], of, endpoints)
		}
	})
}

// certificate writes one that is its own authority.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAtRefuses: what is no place, and says what is.
func TestAtRefuses(t *testing.T) {
	for where, want := range map[string]string{
		"127.0.0.1:6379":            "want embedded, or the URL",
		"http://127.0.0.1:6379":     "want embedded, or the URL",
		"unix:///tmp/redis.sock":    "not on a socket",
		"redis://127.0.0.1:6379/15": "database 15",
	} {
		if _, _, err := redis.Service().At(where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", where, err, want)
		}
	}
}

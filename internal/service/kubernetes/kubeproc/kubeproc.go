// Package kubeproc runs an API server of Kubernetes before an etcd, and has the program of clients that take Leases. The
// user's Go compiles both, and their libraries are no part of gcsim.
package kubeproc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// Arg is the first argument with which Start starts the group's program as an API server.
const Arg = "kubernetes-node"

func Command() *cobra.Command {
	return proc.Command(Arg, "Be an API server of Kubernetes", "kubernetes")
}

var (
	//go:embed _server/main.go _server/pinned.mod _server/pinned.sum
	serverSources embed.FS
	//go:embed _client/*.go _client/pinned.mod _client/pinned.sum
	clientSources embed.FS
)

var (
	Server = golang.NewCompiled("kubernetes", serverSources)
	Client = golang.NewCompiled("kubernetes-client", golang.Agent, clientSources)
)

const get = "gcsim services get kubernetes"

// Found says where the API server is; "": it is missing, or the clients are, and bring is the command that brings both.
func Found() (where, bring string) {
	if where, bring = Client.FoundBy(get); where == "" {
		return where, bring
	}
	return Server.FoundBy(get)
}

// Whole compares both programs with their check sums.
func Whole() error { return errors.Join(Client.Whole(), Server.Whole()) }

// Get has both programs compiled. The API server takes minutes.
func Get(ctx context.Context, progress io.Writer) error {
	if err := Client.Get(ctx, progress); err != nil {
		return err
	}
	return Server.Get(ctx, progress)
}

// Cluster is a Kubernetes of which nothing runs but what keeps objects.
type Cluster struct {
	API  *proc.Node
	Etcd *etcdproc.Member // whose keys are objects, in JSON
}

// The name of the API server, and what clients show to be let in.
const (
	Name  = "kubernetes1"
	Token = "gcsim"
)

// Start starts both in g, whose program must have Command, and that of etcd, and returns when the API server is ready. Found
// must have found the programs. They end with the group.
func Start(ctx context.Context, g *proc.Group) (*Cluster, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("kubernetes is missing: %s", bring)
	}
	store, err := etcdproc.Start(ctx, g, 1, etcdserver.Config{})
	if err != nil {
		return nil, err
	}
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(g.Dir, Name)
	c := &Cluster{API: &proc.Node{Group: g, Name: Name, Addr: free[0]}, Etcd: store.Members[0]}
	if err := writeSecrets(dir); err != nil {
		return nil, err
	}
	c.API.Serves = c.ready
	c.API.Args = arguments(c.API.Addr, c.Etcd.Endpoint(), dir)
	return c, c.API.Restart(ctx)
}

// The files of an API server: the key of tokens that it signs, and who is let in by which token.
const (
	keyFile    = "key.pem"
	tokensFile = "tokens.csv"
)

// arguments are those of an API server for who may do all, and without what only more of Kubernetes could do. It tells nobody
// its address: else it would look for one by the machine's default route, and not start offline.
func arguments(addr, etcd, dir string) []string {
	host, port, _ := strings.Cut(addr, ":")
	key := filepath.Join(dir, keyFile)
	return []string{
		Arg, Server.Path(), "--etcd-servers=http://" + strings.TrimPrefix(etcd, "http://"), "--storage-media-type=application/json",
		"--bind-address=" + host, "--advertise-address=" + host, "--endpoint-reconciler-type=none", "--secure-port=" + port, "--cert-dir=" + dir, "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://gcsim", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--token-auth-file=" + filepath.Join(dir, tokensFile), "--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount",
	}
}

func writeSecrets(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(dir, tokensFile), []byte(Token+`,gcsim,1,"system:masters"`+"\n"), 0o600),
	)
}

// web asks over connections of its own: nobody waits for one that died with its server. The server makes its certificate
// itself.
var web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// Ask sends a request to the API server. An answer other than 200 is an error.
func Ask(ctx context.Context, method, addr, path string) error {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+addr+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+Token)
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server answers %s to %s %s", answer.Status, method, path)
	}
	return nil
}

func (c *Cluster) ready(ctx context.Context) error {
	return Ask(ctx, http.MethodGet, c.API.Addr, "/readyz")
}

// Package kubetest is for tests on Kubernetes.
package kubetest

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves a test out where there is no API server. That is for the night to bring, as Go compiles it for minutes.
func Need(t *testing.T) {
	t.Helper()
	if where, bring := kubeproc.Found(); where == "" {
		need.Night(t, "the API server of Kubernetes is missing: go run ./cmd/"+bring)
		need.Missing(t, "the API server of Kubernetes", "to run it, and clients of client-go", "go run ./cmd/"+bring)
	}
}

// deadline is for a start, which is sure to happen.
const deadline = 2 * time.Minute

// Start starts an API server and its etcd, for a test whose TestMain has the commands of both.
func Start(t *testing.T) *kubeproc.Cluster {
	t.Helper()
	Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c, err := kubeproc.Start(ctx, proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Client is one that the API servers of Start let in.
func Client() *http.Client {
	return &http.Client{Transport: admitted{&http.Transport{
		MaxIdleConnsPerHost: 100, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}}
}

type admitted struct{ *http.Transport }

func (a admitted) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+kubeproc.Token)
	return a.Transport.RoundTrip(r)
}

// Send sends a request with a body of a type to the API server of an address, and returns the answer's status and text.
func Send(ctx context.Context, client *http.Client, method, addr, path, mediaType, body string) (status int, said string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

package clientcmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

var timestamp = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)

// contrib is a "client 1" or "client 2".
type contrib struct {
	*exec.Cmd
	stdin io.WriteCloser
	said  *bufio.Reader
}

func startContrib(t *testing.T, w *clienttest.World, args ...string) *contrib {
	t.Helper()
	c := &contrib{Cmd: clienttest.Process(t, "client", w.Args(args...)...)}
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.said = bufio.NewReader(out)
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// want reads a line that matches, and returns what the parentheses caught.
func (c *contrib) want(t *testing.T, pattern string) string {
	t.Helper()
	line, err := c.said.ReadString('\n')
	line = strings.TrimSpace(line)
	m := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(timestamp.ReplaceAllString(line, ""))
	if m == nil || !timestamp.MatchString(line) {
		t.Fatalf("the client says %q (%v), want a time and %q", line, err, pattern)
	}
	return m[len(m)-1]
}

func (c *contrib) wantLock(t *testing.T, mode string) (version string) {
	t.Helper()
	c.want(t, "client "+mode+" starts")
	c.want(t, "created etcd client and session")
	return c.want(t, "acquired lock, version: ([0-9a-f]+)")
}

func (c *contrib) wantPrompt(t *testing.T) (lease string) {
	t.Helper()
	return c.want(t, `please manually revoke the lease using 'etcdctl lease revoke ([0-9a-f]+)' or wait for it to expire, then start executing client 2 and hit any key\.\.\.`)
}

func (c *contrib) wantEnd(t *testing.T, code int) {
	t.Helper()
	rest, _ := io.ReadAll(c.said)
	_ = c.Wait()
	if got := c.ProcessState.ExitCode(); got != code || len(rest) > 0 {
		t.Errorf("status %d and more lines %q, want %d and none", got, rest, code)
	}
}

func TestContribClient1IsStale(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"x", ""} { // a key is hit, or the input ends
		w := clienttest.New(t)
		one := startContrib(t, w, "1")
		version1 := one.wantLock(t, "1")
		lease := one.wantPrompt(t)
		if owner := w.Queue(t, "/lock", 1)[0]; fmt.Sprintf("%x", int64(clienttest.LeaseOf(t, owner))) != lease {
			t.Errorf("the prompt names lease %s, the lock's key is %s", lease, owner)
		}
		w.Revoke(t, "/lock/"+lease)

		two := startContrib(t, w, "2")
		version2 := two.wantLock(t, "2")
		two.want(t, "this is client 2, continuing")
		two.want(t, "successfully write a key to storage using lease [0-9a-f]+")
		two.wantEnd(t, 0)
		w.WantValue(t, "key0", "value from client 2")
		w.WantFree(t, "/lock")

		if _, err := io.WriteString(one.stdin, key); err != nil {
			t.Fatal(err)
		}
		if key == "" {
			one.stdin.Close()
		}
		one.want(t, "resuming client 1")
		one.want(t, `expected fail to write to storage with old lease version: error: given version \(`+version1+`\) is older than the existing version \(`+version2+`\)`)
		one.wantEnd(t, 0)
		w.WantValue(t, "key0", "value from client 2")
	}
}

// TestContribInOrder: client 1 does not lose the lock, and client 2 waits for it.
func TestContribInOrder(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	one := startContrib(t, w, "1", "--token", "lease")
	version := one.wantLock(t, "1")
	if lease := one.wantPrompt(t); lease != version {
		t.Errorf("the lease is %s, and the version that is to be it %s", lease, version)
	}
	two := startContrib(t, w, "2")
	two.want(t, "client 2 starts")
	w.Queue(t, "/lock", 2)
	one.stdin.Close()
	one.want(t, "resuming client 1")
	if lease := one.want(t, "successfully write a key to storage using lease ([0-9a-f]+)"); lease != version {
		t.Errorf("written with lease %s, want %s", lease, version)
	}
	one.wantEnd(t, 0)
	// A lease's ID is larger than any revision here: client 2 is refused.
	two.want(t, "created etcd client and session")
	two.want(t, "acquired lock, version: [0-9a-f]+")
	two.want(t, "this is client 2, continuing")
	two.want(t, `unexpected fail to write to storage: error: given version \([0-9a-f]+\) is older than the existing version \(`+version+`\)`)
	two.wantEnd(t, 1)
	w.WantValue(t, "key0", "value from client 1")
	w.WantFree(t, "/lock")
}

// TestContribStorageGone: where there is no answer the client does not know,
// and says no lie. Nobody asks the storage before.
func TestContribStorageGone(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	w.Storage = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var ask kvhttp.ContribRequest
		if err != nil || json.Unmarshal(b, &ask) != nil || ask.Op != kv.OpWrite { // it would end contrib/lock's own storage
			t.Errorf("client 1 asks %s %s %q, %v", r.Method, r.URL, b, err)
		}
		panic(http.ErrAbortHandler)
	}))
	defer w.Storage.Close()
	one := startContrib(t, w, "1")
	one.wantLock(t, "1")
	one.wantPrompt(t)
	one.stdin.Close()
	one.want(t, "resuming client 1")
	one.want(t, "failed to send a request to storage: .*EOF")
	one.wantEnd(t, 1)
	w.WantFree(t, "/lock")
}

// TestContribWithoutStorage: the lock comes first, and only then the client fails.
func TestContribWithoutStorage(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	w.Storage = httptest.NewServer(nil)
	w.Storage.Close()
	two := startContrib(t, w, "2")
	two.wantLock(t, "2")
	two.want(t, "this is client 2, continuing")
	two.want(t, `failed to send a request to storage: Post "`+w.Storage.URL+`": .*connection refused`)
	if rest, err := io.ReadAll(two.said); !strings.Contains(string(rest), "go run ./cmd/storage") {
		t.Errorf("got %q, %v, want how to start a storage", rest, err)
	}
	two.wantEnd(t, 1)
	w.WantFree(t, "/lock")
}

// TestContribOtherDocument: an answer that is not contrib/lock's is no success, though
// it is JSON.
func TestContribOtherDocument(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	w.Storage = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		answer.WriteHeader(http.StatusMisdirectedRequest)
		fmt.Fprint(answer, `{"type":"about:blank","status":421,"detail":"ask for localhost"}`)
	}))
	defer w.Storage.Close()
	two := startContrib(t, w, "2")
	two.want(t, "client 2 starts")
	two.want(t, "created etcd client and session")
	two.want(t, "acquired lock, version: [0-9a-f]+")
	two.want(t, "this is client 2, continuing")
	two.want(t, "failed to unmarshal response json: .*421 Misdirected Request.*ask for localhost.*")
	two.wantEnd(t, 1)
	w.WantFree(t, "/lock")
}

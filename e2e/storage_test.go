package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func itoa(n int) string { return strconv.Itoa(n) }

func state(t *testing.T, pid int) string {
	t.Helper()
	_, after, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	return after[:1]
}

var (
	urlPattern      = regexp.MustCompile(`url=(http://\S+)`)
	endpointPattern = regexp.MustCompile(`endpoint=(\S+)`)
)

// storage starts a storage and returns its URL.
func (w *world) storage(args ...string) (*process, string) {
	w.t.Helper()
	p := w.start("storage", append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	return p, urlPattern.FindStringSubmatch(p.await("storage serves"))[1]
}

// etcd starts an etcd and returns its address and a client of it.
func (w *world) etcd() (string, *clientv3.Client) {
	w.t.Helper()
	p := w.start("gcsim", "etcd", "--listen", "127.0.0.1:0")
	w.t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		p.want(0)
	})
	endpoint := endpointPattern.FindStringSubmatch(p.await("etcd serves"))[1]
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close() })
	return endpoint, client
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, resp)
}

// bodyOf reads an answer to its end.
func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestContribLockProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, url := w.storage()
	_, off := w.storage("--fencing", "off")
	for _, tt := range []struct{ request, fenced, control string }{
		{`{"op":"write","key":"key0","val":"two","version":6866939734312125194}`, `{"val":"two","version":6866939734312125194,"err":""}`, ""},
		{
			`{"op":"write","key":"key0","val":"one","version":6866939734312125193}`,
			`{"val":"","version":-1,"err":"given version (5f4c454e45b08309) is older than the existing version (5f4c454e45b0830a)"}`,
			`{"val":"one","version":6866939734312125193,"err":""}`,
		},
		{`{"op":"read","key":"key0","val":"","version":0}`, `{"val":"two","version":6866939734312125194,"err":""}`, `{"val":"one","version":6866939734312125193,"err":""}`},
		{`{"op":"read","key":"key1","val":"","version":0}`, `{"val":"","version":-1,"err":"key not found"}`, ""},
	} {
		if got := post(t, url, tt.request); got != tt.fenced {
			t.Errorf("%s\ngot  %s\nwant %s", tt.request, got, tt.fenced)
		}
		if tt.control == "" {
			tt.control = tt.fenced
		}
		if got := post(t, off, tt.request); got != tt.control {
			t.Errorf("fencing off: %s\ngot  %s\nwant %s", tt.request, got, tt.control)
		}
	}
}

// TestContribLockWalkThrough follows contrib/lock's README, with the lease
// revoked by hand.
func TestContribLockWalkThrough(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"revision", "lease"} {
		t.Run(token, func(t *testing.T) {
			w := newWorld(t)
			endpoint, etcd := w.etcd()
			_, url := w.storage()
			flags := []string{"--endpoints", endpoint, "--storage", url, "--token", token, "--ttl", "60s"}
			one := w.start("client", append([]string{"1"}, flags...)...)
			prompt := one.await("please manually revoke the lease using 'etcdctl lease revoke ")
			lease, err := strconv.ParseInt(regexp.MustCompile(`revoke ([0-9a-f]+)'`).FindStringSubmatch(prompt)[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := etcd.Revoke(t.Context(), clientv3.LeaseID(lease)); err != nil {
				t.Fatal(err)
			}
			two := w.start("client", append([]string{"2"}, flags...)...)
			two.want(0)
			two.says("client 2 starts", "created etcd client and session", "acquired lock, version: ", "this is client 2, continuing", "successfully write a key to storage using lease ")
			fmt.Fprintln(one.stdin)
			one.want(0)
			one.says("client 1 starts", "resuming client 1", "expected fail to write to storage with old lease version: error: given version (", "is older than the existing version (")
			if got := post(t, url, `{"op":"read","key":"key0"}`); !strings.Contains(got, `"val":"value from client 2"`) {
				t.Errorf("the storage holds %s", got)
			}
		})
	}
}

// TestIssuer: a token that etcd cannot have given out locks nobody out.
func TestIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint, _ := w.etcd()
	_, url := w.storage("--issuer", endpoint)
	poison := post(t, url, `{"op":"write","key":"key0","val":"poison","version":9223372036854775807}`)
	if !strings.Contains(poison, "no token over 1 has been issued") {
		t.Errorf("poison: %s", poison)
	}
	p := w.start("client", "2", "--endpoints", endpoint, "--storage", url)
	p.want(0)
	p.says("successfully write a key")
}

func TestUnreachableIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody := proctest.Nobody(t)
	p := w.start("client", "2", "--endpoints", nobody)
	p.want(1)
	p.says(nobody, "--endpoints")
	endpoint, _ := w.etcd()
	p = w.start("client", "2", "--endpoints", endpoint, "--storage", "http://"+nobody)
	p.want(1)
	p.says(nobody, "--storage")
}

func TestExec(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh", "to run a script under a lock")
	w := newWorld(t)
	endpoint, etcd := w.etcd()
	client := func(args ...string) *process {
		return w.start("client", append([]string{"exec", "--endpoints", endpoint, "--lock", "/job"}, args...)...)
	}
	p := client("--", "sh", "-c", "echo token $FENCING_TOKEN of $FENCING_SCOPE; exit 7")
	p.want(7)
	if line := p.await("token "); !regexp.MustCompile(`^token [1-9][0-9]* of /job$`).MatchString(line) {
		t.Errorf("the command's environment: %s", line)
	}

	// A second command waits for the first, and gets in when its tenure is lost.
	first := client("--", "sh", "-c", "echo first; cat")
	first.await("first")
	second := client("--", "echo", "second")
	keys, err := etcd.Get(t.Context(), "/job/", clientv3.WithFirstCreate()...)
	if err != nil || len(keys.Kvs) != 1 {
		t.Fatal(keys, err)
	}
	if _, err := etcd.Revoke(t.Context(), clientv3.LeaseID(keys.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
	second.want(0)
	second.says("second")
	first.want(128 + int(syscall.SIGTERM))
	first.says("lost")
}

// TestStorageStopsGracefully: the request that is under way is answered.
func TestStorageStopsGracefully(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, url := w.storage()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	b := make([]byte, 4096)
	if n, err := conn.Read(b); err != nil || !strings.Contains(string(b[:n]), "100 Continue") {
		t.Fatalf("%q %v", b[:n], err) // now the request is under way
	}
	p.signal(syscall.SIGTERM)
	p.await("storage stops")
	fmt.Fprint(conn, "ok")
	if n, err := conn.Read(b); err != nil || !strings.Contains(string(b[:n]), "204 No Content") {
		t.Errorf("%q %v", b[:n], err)
	}
	p.want(0)
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return bodyOf(t, resp)
}

// TestStorageCutsOffAtItsEnd: a storage that is told to end does so, with status 0,
// whatever its clients have left half-done. What was not received is not there.
func TestStorageCutsOffAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := t.TempDir()
	p, url := w.storage("--engine", "bolt", "--data", data)
	for _, half := range []string{
		"PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\nContent-Length: 200\r\n\r\nhalf",
		"PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"PUT /v1/kv/a HTTP/1.1\r\nHost: loc",
		"",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, half)
	}
	if status, says := put(t, url, "b", 1, "kept"); status != http.StatusNoContent { // by a connection that is accepted after these
		t.Fatal(status, says)
	}
	p.signal(syscall.SIGTERM)
	p.want(0)
	p.says("were cut off")

	_, url = w.storage("--engine", "bolt", "--data", data)
	if got := get(t, url+"/v1/kv/b"); got != "kept" {
		t.Errorf("b is %q", got)
	}
	if got := get(t, url+"/v1/kv/a"); !strings.Contains(got, "key not found") {
		t.Errorf("a is %q", got)
	}
}

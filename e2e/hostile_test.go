package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// The bound of memory that docs/operations.md gives: what the storage itself
// takes, what each connection takes that sends the longest header, and what each
// byte of --max-memory does.
const (
	baseMemory          = 64 << 20
	connectionMemory    = 128 << 10
	memoryPerMaxMemory  = 4
	maxMemory           = 64 << 20 // the default
	honestAddress       = "127.0.0.2"
	honestClients       = 4
	fewestHonest        = 20 // requests in a phase: they are served, however busy the machine is
	files               = 700
	slowBodies          = 300
	endlessBodies, huge = 50, 50
)

// memory is a line of /proc/PID/status, in bytes.
func memory(t *testing.T, p *process, field string) int64 {
	t.Helper()
	status := read(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB$`).FindStringSubmatch(status)
	if m == nil {
		t.Fatalf("no %s in %s", field, status)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n << 10
}

// honestClient comes from an address of its own.
type honestClient struct {
	t    *testing.T
	url  string
	http http.Client
}

func newHonestClient(t *testing.T, url string) *honestClient {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(honestAddress)}}
	tr := &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: honestClients}
	t.Cleanup(tr.CloseIdleConnections)
	return &honestClient{t, url, http.Client{Transport: tr, Timeout: patience}}
}

// do sends a request with token 1 and returns status and body, 0 where it failed.
func (c *honestClient) do(method, path, body string) (int, string) {
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	r.Header.Set("Fencing-Token", "1")
	r.Header.Set("Fencing-Scope", "/honest")
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Errorf("%s %s: %v", method, path, err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Errorf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(b)
}

func (c *honestClient) want(status int, method, path, body string) string {
	c.t.Helper()
	got, text := c.do(method, path, body)
	if got != status {
		c.t.Errorf("%s %s: %d %.300s, want %d", method, path, got, text, status)
	}
	return text
}

// work has honest clients write and read for a while. All must succeed. It
// returns how many requests a second did.
func (c *honestClient) work(d time.Duration) float64 {
	var n atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for i := range honestClients {
		wg.Go(func() {
			key := fmt.Sprint("/v1/kv/honest", i)
			for j := 0; time.Since(start) < d || n.Load() < fewestHonest; j++ {
				value := fmt.Sprint("value ", j)
				if status, text := c.do("PUT", key, value); status != http.StatusNoContent {
					c.t.Errorf("an honest write: %d %.300s", status, text)
					return
				}
				if status, text := c.do("GET", key, ""); status != http.StatusOK || text != value {
					c.t.Errorf("an honest read: %d %.300s, want %q", status, text, value)
					return
				}
				n.Add(2)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(start).Seconds()
}

// slow are connections that send a piece a second, driven by one goroutine. One
// that the storage gives up is replaced.
type slow struct {
	addr  string
	first string // what is sent at once
	piece []byte
	conns []net.Conn
}

func (s *slow) dial(i int) error {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	s.conns[i] = conn
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, s.first) // that it is closed already is found later
	return nil
}

func (s *slow) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, c := range s.conns {
				c.Close()
			}
			return
		case <-tick.C:
		}
		for i, c := range s.conns {
			_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			if _, err := c.Write(s.piece); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				continue
			}
			c.Close()
			if s.dial(i) != nil && ctx.Err() != nil {
				return
			}
		}
	}
}

// pour sends first and then the same again and again, ten times a second, on a new
// connection when the storage has closed the last: the machine is to be busy with
// what the storage does, not with the test.
func pour(ctx context.Context, addr, first string, more []byte) {
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(patience))
			_, err = io.WriteString(conn, first)
		}
		for ctx.Err() == nil && err == nil {
			_, err = conn.Write(more)
			<-tick.C
		}
		if conn != nil {
			conn.Close()
		}
	}
}

// TestHostileClients: connections that send a byte a second in header and body,
// bodies without end, huge headers and slow large bodies, all at once, do not keep
// honest clients from being served, and the storage stays within its memory.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	need.Time(t, "to have a thousand clients")
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n, phase := 1_000, 3*time.Second
	if need.Long() {
		n, phase = 10_000, 40*time.Second
		if n = min(n, int(limit.Cur)-files); n < 2_000 {
			t.Fatalf("the limit of open files is %d; raise it: ulimit -n 20000", limit.Cur)
		}
	}
	w := newWorld(t)
	p, url := w.storage("--max-connections", itoa(n+files), "--max-connections-per-client", itoa(n+files-2*honestClients))
	addr := strings.TrimPrefix(url, "http://")
	honest := newHonestClient(t, url)
	alone := honest.work(phase / 3)
	idle := memory(t, p, "VmRSS")

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	const put = "PUT /v1/kv/hostile HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 1\r\n"
	fill := "X-Fill: " + strings.Repeat("x", 24<<10) + "\r\n" // nearly all that a header may have
	var all []*slow
	for range 4 {
		all = append(all, &slow{first: put + "X-Slow: ", piece: []byte("x"), conns: make([]net.Conn, n/8)},
			&slow{first: put + fill + "Content-Length: 1000\r\n\r\n", piece: []byte("x"), conns: make([]net.Conn, n/8)})
	}
	start := func(s *slow) {
		s.addr = addr
		for i := range s.conns {
			if err := s.dial(i); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
		wg.Go(func() { s.run(ctx) })
	}
	for _, s := range all {
		start(s)
	}
	given := dialSlow(t, addr, put)
	honest.want(204, "PUT", "/v1/kv/honest", "x")
	beside := honest.work(phase / 3)
	each := (memory(t, p, "VmRSS") - idle) / int64(n)
	start(&slow{first: put + "Content-Length: 1048576\r\n\r\n" + strings.Repeat("x", 500_000), piece: make([]byte, 10_000), conns: make([]net.Conn, slowBodies)})
	for range endlessBodies {
		chunk := append([]byte("10000\r\n"), bytes.Repeat([]byte("x"), 0x10000)...)
		wg.Go(func() { pour(ctx, addr, put+"Transfer-Encoding: chunked\r\n\r\n", append(chunk, "\r\n"...)) })
	}
	for range huge {
		wg.Go(func() { pour(ctx, addr, put+"X-Huge: ", bytes.Repeat([]byte("x"), 1<<20)) })
	}
	under := honest.work(phase)
	peak := memory(t, p, "VmHWM")
	bound := int64(baseMemory + (n+files)*connectionMemory + memoryPerMaxMemory*maxMemory)
	t.Logf("honest requests a second: %.0f alone, %.2f of it beside %d slow connections, %.3f under everything; bytes of memory: %d alone, %d a slow connection, %d at the peak, of %d that are the bound",
		alone, beside/alone, n, under/alone, idle, each, peak, bound)
	if peak > bound {
		t.Errorf("the storage took %d bytes of memory, more than %d", peak, bound)
	}
	metrics := honest.want(200, "GET", "/metrics", "")
	if strings.Contains(metrics, `fencelab_storage_limited_total{limit="memory"} 0`) {
		t.Error("no request was refused for the limit of memory")
	}
	_ = given.SetReadDeadline(time.Now().Add(patience))
	if b, err := io.ReadAll(given); err != nil {
		t.Errorf("a slow client was not given up: %q %v", b, err)
	}
	cancel()
	wg.Wait()
	honest.want(404, "GET", "/v1/kv/hostile", "")
	honest.http.CloseIdleConnections()
	p.signal(syscall.SIGTERM)
	p.want(0)
}

// dialSlow opens a connection with half a header.
func dialSlow(t *testing.T, addr, first string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, first)
	return conn
}

// TestOneClientCannotTakeAllConnections: with the default limits, as far as the
// test makes them smaller.
func TestOneClientCannotTakeAllConnections(t *testing.T) {
	w := newWorld(t)
	_, url := w.storage("--max-connections", "200")
	for range 200 { // 50 of which are refused
		dialSlow(t, strings.TrimPrefix(url, "http://"), "PUT /v1/kv/a HTTP/1.1\r\nX: ")
	}
	honest := newHonestClient(t, url)
	honest.work(0)
	resp, err := http.Get(url + "/healthz") // from the address of the slow ones
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || !strings.Contains(string(b), `"limit":"connections","max":150`) {
		t.Errorf("%s %s", resp.Status, b)
	}
}

// TestMillionKeys: what they cost, and that at --max-keys the storage goes on.
func TestMillionKeys(t *testing.T) {
	need.Time(t, "to write so many")
	n, phase := 50*1024, 500*time.Millisecond
	if need.Long() {
		n, phase = 1_000_000/1024*1024, 5*time.Second
	}
	w := newWorld(t)
	p, url := w.storage("--max-keys", itoa(n+honestClients))
	c := newHonestClient(t, url)
	before := c.work(phase) // makes its keys
	idle := memory(t, p, "VmRSS")
	batches := func(op string) {
		for i := 0; i < n; i += 1024 {
			var b strings.Builder
			for j := i; j < i+1024; j++ {
				fmt.Fprintf(&b, `,{"op":%s,"key":"key%09d"`, strconv.Quote(op), j)
				if op == "write" {
					fmt.Fprintf(&b, `,"val":"value of 16 byte"`)
				}
				b.WriteByte('}')
			}
			c.want(204, "POST", "/v1/batch", `{"ops":[`+b.String()[1:]+`]}`)
		}
	}
	batches("write")
	full := memory(t, p, "VmRSS")
	after := c.work(phase)
	t.Logf("%d keys of 12 bytes with values of 16: %d bytes each; honest requests a second: %.0f before, %.2f of it after; bytes of memory: %d before, %d after, %d at the peak",
		n, (full-idle)/int64(n), before, after/before, idle, full, memory(t, p, "VmHWM"))
	if b := c.want(507, "PUT", "/v1/kv/one-more", "x"); !strings.Contains(b, `"limit":"keys","max":`+itoa(n+honestClients)) {
		t.Errorf("one key more: %s", b)
	}
	c.want(507, "POST", "/v1/batch", `{"ops":[{"op":"write","key":"one-more","val":""},{"op":"write","key":"key000000000","val":"lost"}]}`)
	if b := c.want(200, "GET", "/v1/kv/key000000000", ""); b != "value of 16 byte" {
		t.Errorf("half of a refused batch was done: %s", b)
	}
	c.want(204, "PUT", "/v1/kv/key000000000", "other")
	batches("delete")
	if b := c.want(200, "GET", "/metrics", ""); !strings.Contains(b, fmt.Sprintf("\nfencelab_storage_keys %d\n", honestClients)) {
		t.Errorf("keys are left: %s", regexp.MustCompile(`(?m)^fencelab_storage_keys.*$`).FindString(b))
	}
	c.want(204, "PUT", "/v1/kv/one-more", "x")
	p.signal(syscall.SIGTERM)
	p.want(0)
}

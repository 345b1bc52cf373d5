package program_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/platform/webpage/pagetest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// account is what a gate tells.
type account struct {
	mu     sync.Mutex
	events []history.Event
	failed []string
}

func (a *account) tell(e history.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

func (a *account) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = append(a.failed, err.Error())
}

// lines is the account in short.
func (a *account) lines() (text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		text += fmt.Sprintf("%d %s %s %s=%s", e.Index, e.Kind, e.Op, e.Key, e.Value)
		if e.Missing {
			text += " missing"
		}
		if e.Reason != "" {
			text += fmt.Sprintf(" %s %d", e.Reason, e.Mark)
		}
		text += "\n"
	}
	return text
}

// gate is a gate before a storage, whose answers are waited for so long.
func gate(t *testing.T, storage string, within time.Duration, change func(*program.Gate)) (string, *program.Gate, *account) {
	t.Helper()
	g, err := program.NewGate("the storage of the test")
	if err != nil {
		t.Fatal(err)
	}
	a := new(account)
	g.Tell, g.Fail, g.Within = a.tell, a.fail, within
	if change != nil {
		change(g)
	}
	g.Serve(storage)
	g.Open()
	t.Cleanup(g.Close)
	return "http://" + g.Addr(), g, a
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// ask makes a request as a client of the lab does.
func ask(t *testing.T, ctx context.Context, base, method, key string, c fence.Claim, body io.Reader, length int64) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, base+"/v1/kv/"+key, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = length
	req.Header.Set("X-Request-Id", "c1-1")
	fencehttp.SetClaim(req.Header, c)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func write(t *testing.T, base, key, value string, token fence.Token) (int, string) {
	t.Helper()
	resp, text := ask(t, t.Context(), base, http.MethodPut, key, fence.Claim{Scope: "/lock", Token: token}, strings.NewReader(value), int64(len(value)))
	if resp == nil {
		return 0, text
	}
	return resp.StatusCode, text
}

func eventually(t *testing.T, what string, is <-chan struct{}) {
	t.Helper()
	select {
	case <-is:
	case <-time.After(2 * time.Minute):
		t.Fatal("long after that not yet: " + what)
	}
}

// TestHeadersComeFirst: a storage sees the headers of a request while its body is on its way,
// and others go through meanwhile. The order is that in which the bodies came.
func TestHeadersComeFirst(t *testing.T) {
	headers, release := make(chan struct{}), make(chan struct{})
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/kv/late" {
			close(headers)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	base, _, told := gate(t, storage, time.Minute, nil)
	body, in := io.Pipe()
	go func() {
		<-release
		_, _ = io.WriteString(in, "value")
		in.Close()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, text := ask(t, t.Context(), base, http.MethodPut, "late", fence.Claim{Scope: "/lock", Token: 34}, body, 5); resp == nil || resp.StatusCode != http.StatusNoContent {
			t.Errorf("the late one: %v, %s", resp, text)
		}
	}()
	eventually(t, "the headers at the storage", headers)
	if status, text := write(t, base, "other", "value", 36); status != http.StatusNoContent {
		t.Fatalf("another one meanwhile: %d, %s", status, text)
	}
	close(release)
	eventually(t, "the late answer", done)
	if got, want := told.lines(), "1 applied write other=value\n2 applied write late=value\n"; got != want {
		t.Errorf("the account is\n%s, want\n%s", got, want)
	}
}

// TestSerialStorageGetsAWholeRequest: one that waits for a body would keep all others out.
func TestSerialStorageGetsAWholeRequest(t *testing.T) {
	var turn sync.Mutex // it serves one connection at a time
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	base, _, _ := gate(t, storage, time.Minute, func(g *program.Gate) { g.Whole = true })
	body, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(t, t.Context(), base, http.MethodPut, "late", fence.Claim{Scope: "/lock", Token: 34}, body, 5)
	}()
	_, _ = io.WriteString(in, "va") // its headers are at the gate by now
	if status, text := write(t, base, "other", "value", 36); status != http.StatusNoContent {
		t.Fatalf("another one meanwhile: %d, %s", status, text)
	}
	_, _ = io.WriteString(in, "lue")
	eventually(t, "the late answer", done)
}

// TestOneAtATime: the storage has never two whole requests at a time.
func TestOneAtATime(t *testing.T) {
	var mu sync.Mutex
	var under, most int
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		time.Sleep(time.Millisecond) // so that others could come
		mu.Lock()
		under--
		mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	base, _, told := gate(t, storage, time.Minute, nil)
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 5 {
				write(t, base, fmt.Sprint("k", i), "value", 34)
			}
		})
	}
	clients.Wait()
	if most != 1 || len(told.events) != 40 || told.events[39].Index != 40 {
		t.Errorf("%d at a time, and %d are told, the last with place %d; want 1, 40 and 40", most, len(told.events), told.events[len(told.events)-1].Index)
	}
}

// TestMeanings: what answers mean, to the account and to the client.
func TestMeanings(t *testing.T) {
	problem := func(err error) func(w http.ResponseWriter) {
		p, _ := fencehttp.NewProblem(err)
		return func(w http.ResponseWriter) { p.Write(w) }
	}
	status := func(code int) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	duplicate := func(w http.ResponseWriter) { w.Header().Set("Fencing-Duplicate", "true") }
	for name, tt := range map[string]struct {
		method string
		token  fence.Token
		answer func(w http.ResponseWriter)
		told   string // "": the run fails
		status int
	}{
		"written":              {"PUT", 34, status(201), "1 applied write k=v\n", 204},
		"written, unchecked":   {"PUT", 0, status(200), "1 applied write k=v\n", 204},
		"done before":          {"PUT", 34, duplicate, "1 duplicate write k=v\n", 204},
		"stale":                {"PUT", 34, status(412), "1 refused write k=v stale 0\n", 412},
		"stale, with the mark": {"PUT", 34, problem(&fence.StaleError{Scope: "/lock", Token: 34, Mark: 36}), "1 refused write k=v stale 36\n", 412},
		"ahead":                {"PUT", 34, status(422), "1 refused write k=v ahead 0\n", 422},
		"no token":             {"PUT", 0, status(428), "1 refused write k=v missing 0\n", 428},
		"no token, anyhow":     {"PUT", 0, status(403), "1 refused write k=v missing 0\n", 428},
		"deleted":              {"DELETE", 34, status(200), "1 applied delete k=\n", 204},
		"nothing to delete":    {"DELETE", 34, status(404), "1 applied delete k=\n", 204},
		"read":                 {"GET", 34, func(w http.ResponseWriter) { io.WriteString(w, "value") }, "1 applied read k=value\n", 200},
		"nothing to read":      {"GET", 0, status(404), "1 applied read k= missing\n", 404},
		"a stale read":         {"GET", 34, status(412), "1 refused read k= stale 0\n", 412},
		"a fault":              {"PUT", 34, status(503), "1 unanswered write k=v\n", 502},
		"a conflict":           {"PUT", 34, status(409), "", 502},
		"a redirect":           {"PUT", 34, status(307), "", 502},
		"no such path":         {"PUT", 34, status(404), "", 502},
		"forbidden":            {"GET", 0, status(403), "", 502},
	} {
		t.Run(name, func(t *testing.T) {
			storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				tt.answer(w)
			})
			base, _, told := gate(t, storage, time.Minute, nil)
			var body io.Reader
			length := int64(0)
			if tt.method == http.MethodPut {
				body, length = strings.NewReader("v"), 1
			}
			resp, text := ask(t, t.Context(), base, tt.method, "k", fence.Claim{Scope: "/lock", Token: tt.token}, body, length)
			if resp == nil || resp.StatusCode != tt.status || told.lines() != tt.told {
				t.Fatalf("the client got %v %q, the account is %q; want %d and %q", resp, text, told.lines(), tt.status, tt.told)
			}
			if fails := tt.told == ""; fails != (len(told.failed) == 1) {
				t.Errorf("the run is told %q", told.failed)
			}
			for _, e := range told.events {
				if e.Request != "c1-1" || e.Scope != "/lock" || e.Token != tt.token || e.Lane != history.LaneStorage {
					t.Errorf("the account has %+v", e)
				}
			}
			if len(told.failed) == 1 && !strings.HasPrefix(told.failed[0], "the storage of the test answered ") {
				t.Errorf("it says %q, want the storage named, and what it did", told.failed[0])
			}
		})
	}
}

// TestNoAnswer: whatever a storage does in place of an answer, the account says that there is
// none, and why.
func TestNoAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(net.Conn)
		says string
	}{
		"garbage":     {func(c net.Conn) { io.WriteString(c, "\x00\xff SSH-2.0-no storage\r\n\r\n") }, "no answer that is HTTP"},
		"nothing":     {func(net.Conn) {}, "closed the connection without an answer"},
		"half a line": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 20") }, "no answer that is HTTP"},
		"a lie":       {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nvalue") }, "ended its answer before the end"},
		"silence":     {func(c net.Conn) { io.Copy(io.Discard, c) }, "gave no whole answer within 300ms"},
		"half a body": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nva")
			io.Copy(io.Discard, c)
		}, "gave no whole answer within 300ms"},
		"100 MB":        {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); flood(c) }, "answered with more than 1048576 bytes"},
		"endless heads": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "); flood(c) }, "no answer that is HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			within := 10 * time.Second
			if strings.Contains(tt.says, "300ms") {
				within = 300 * time.Millisecond
			}
			base, _, told := gate(t, odd(t, tt.say), within, nil)
			status, text := write(t, base, "k", "v", 34)
			if told.lines() != "1 unanswered write k=v\n" {
				t.Fatalf("the account is %q", told.lines())
			}
			for _, says := range []string{text, told.events[0].Text} {
				if status != http.StatusBadGateway || !strings.Contains(says, "the storage of the test "+tt.says) && !strings.Contains(says, tt.says) ||
					!strings.Contains(says, "asked: PUT /v1/kv/k, Fencing-Scope: /lock, Fencing-Token: 34") {
					t.Errorf("it says %d %q, want %q and what was asked", status, says, tt.says)
				}
			}
		})
	}
}

// odd is a storage that takes a whole request and then does something else than to answer it.
func odd(t *testing.T, say func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var all string
				for b := make([]byte, 1024); !strings.HasSuffix(all, "\r\n\r\nv"); {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					all += string(b[:n])
				}
				say(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func flood(w io.Writer) {
	for range 100 {
		if _, err := w.Write(make([]byte, 1_000_000)); err != nil {
			return
		}
	}
}

// TestUnansweredIsPassedBy: the one that follows goes through, and the next life of the storage
// counts anew.
func TestUnansweredIsPassedBy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/v1/kv/silent" {
			cancel()
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusNoContent)
	})
	base, g, told := gate(t, storage, 3*time.Second, nil)
	ask(t, ctx, base, http.MethodPut, "silent", fence.Claim{Scope: "/lock", Token: 34}, strings.NewReader("v"), 1) // its client hangs up
	write(t, base, "k", "v", 34)
	g.Serve(storage)
	write(t, base, "k", "w", 34)
	if got, want := told.lines(), "1 unanswered write silent=v\n2 applied write k=v\n1 applied write k=w\n"; got != want {
		t.Errorf("the account is\n%s, want\n%s", got, want)
	}
}

// TestWebPages: the gate obeys none, whatever the storage behind it would do.
func TestWebPages(t *testing.T) {
	storage := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s has gone through", r.Method, r.URL) })
	base, _, _ := gate(t, storage, time.Minute, nil)
	pagetest.Refused(t, base+"/v1/kv/k")
}

// TestHalfClosedClient: one that closes its sending side after a whole request waits for its turn
// like each other, and has the answer.
func TestHalfClosedClient(t *testing.T) {
	came, answer := make(chan string, 2), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		came <- r.URL.Path
		if r.URL.Path == "/v1/kv/first" {
			<-answer
		}
		w.WriteHeader(http.StatusNoContent)
	})
	base, _, told := gate(t, storage, time.Minute, func(g *program.Gate) { g.Whole = true })
	first := make(chan struct{})
	go func() {
		defer close(first)
		write(t, base, "first", "v", 34)
	}()
	<-came
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /v1/kv/second HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nContent-Length: 1\r\n\r\nv")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	// The gate gives up at once, or not before it has an answer.
	if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("an answer before its turn: %d bytes, %v", n, err)
	}
	release()
	<-first
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("%v, %v", resp, err)
	}
	if got, want := told.lines(), "1 applied write first=v\n2 applied write second=v\n"; got != want {
		t.Errorf("the account is\n%s, want\n%s", got, want)
	}
}

// TestNobody: where nobody takes connections the request was not done; it is a failure of the
// run, unless the run knows.
func TestNobody(t *testing.T) {
	base, g, told := gate(t, "http://"+proctest.Nobody(t), time.Minute, nil)
	resp, text := ask(t, t.Context(), base, http.MethodPut, "k", fence.Claim{Token: 34}, strings.NewReader("v"), 1)
	if resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Fencing-Outcome") != "none" {
		t.Errorf("the client got %v %q, want that nothing was done", resp, text)
	}
	if told.lines() != "" || len(told.failed) == 0 || !strings.Contains(told.failed[0], "the storage of the test takes no connections") {
		t.Errorf("the account is %q, and the run is told %q", told.lines(), told.failed)
	}
	told.failed = nil
	g.Leave()
	if status, _ := write(t, base, "k", "v", 34); status != http.StatusServiceUnavailable || told.failed != nil || told.lines() != "" {
		t.Errorf("%d, %q, %q, want 503 alone", status, told.failed, told.lines())
	}
}

// TestHalfOfARequestComesToTheNextOne: the storage was started again while the body was on its
// way.
func TestHalfOfARequestComesToTheNextOne(t *testing.T) {
	headers := make(chan struct{})
	first := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(headers)
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer first.Close()
	got := make(chan string, 1)
	second := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("Fencing-Token") + " " + string(b)
	})
	base, g, told := gate(t, first.URL, time.Minute, nil)
	body, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(t, t.Context(), base, http.MethodPut, "k", fence.Claim{Scope: "/lock", Token: 34}, body, 5)
	}()
	eventually(t, "the headers at the storage", headers)
	g.Leave()
	first.CloseClientConnections()
	g.Serve(second)
	_, _ = io.WriteString(in, "value")
	in.Close()
	eventually(t, "the answer", done)
	if got, want := <-got, "34 value"; got != want {
		t.Errorf("it got %q, want %q", got, want)
	}
	if got, want := told.lines(), "1 applied write k=value\n"; got != want {
		t.Errorf("the account is %q, want %q", got, want)
	}
}

// TestPrefix: in the storage keys and scopes have a prefix, in the account they have none.
func TestPrefix(t *testing.T) {
	got := make(chan string, 1)
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Fencing-Scope") + " " + string(b)
		w.WriteHeader(http.StatusNoContent)
	})
	base, _, told := gate(t, storage, time.Minute, func(g *program.Gate) { g.Prefix = "run-" })
	write(t, base, "a%2Fb%20c", "v", 34)
	if got, want := <-got, "PUT /v1/kv/run-a%2Fb%20c /run-lock v"; got != want {
		t.Errorf("the storage got %q, want %q", got, want)
	}
	req, err := http.NewRequest(http.MethodPost, base+"/v1/batch", strings.NewReader(`{"ops":[{"op":"write","key":"a","val":"1"},{"op":"write","key":"b","val":"2"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	fencehttp.SetClaim(req.Header, fence.Claim{Scope: "/lock", Token: 34})
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got, want := <-got, `POST /v1/batch /run-lock {"ops":[{"op":"write","key":"run-a","val":"1"},{"op":"write","key":"run-b","val":"2"}]}`; got != want {
		t.Errorf("the storage got %q, want %q", got, want)
	}
	if got, want := told.lines(), "1 applied write a/b c=v\n2 applied write a=1\n3 applied write b=2\n"; got != want {
		t.Errorf("the account is\n%s, want\n%s", got, want)
	}
}

// TestSettle returns when what has gone through is told.
func TestSettle(t *testing.T) {
	there := make(chan struct{})
	storage := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(there)
		<-r.Context().Done()
	})
	base, g, told := gate(t, storage, 300*time.Millisecond, nil)
	go write(t, base, "k", "v", 34)
	eventually(t, "the request at the storage", there)
	if err := g.Settle(t.Context()); err != nil || told.lines() != "1 unanswered write k=v\n" {
		t.Errorf("%v, and the account is %q", err, told.lines())
	}
}

// TestSettleWaitsForNobodyWhoLeft: when the story is told, a request whose client has hung up is
// not passed on any more.
func TestSettleWaitsForNobodyWhoLeft(t *testing.T) {
	there, answer := make(chan struct{}, 2), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	storage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		there <- struct{}{}
		<-answer
		w.WriteHeader(http.StatusNoContent)
	})
	base, g, told := gate(t, storage, time.Minute, func(g *program.Gate) { g.Whole = true })
	go write(t, base, "k", "v", 34)
	eventually(t, "the request at the storage", there)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /v1/kv/late HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nContent-Length: 1\r\n\r\nv")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error)
	go func() { settled <- g.Settle(t.Context()) }()
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil { // while the first one has the turn
		t.Error(err)
	}
	release()
	if err := <-settled; err != nil || told.lines() != "1 applied write k=v\n" {
		t.Errorf("%v, and the account is %q", err, told.lines())
	}
}

package eslock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

// stored is a document as it is found by hand.
func stored(t *testing.T, addr, index, id string) (source struct {
	Token   int64
	Holders []struct {
		Owner, Mode string
		Token       int64
	}
}) {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/" + index + "/_doc/" + url.PathEscape(id))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var found struct {
		Source json.RawMessage `json:"_source"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(found.Source, &source); err != nil {
		t.Fatalf("%s: %v", found.Source, err)
	}
	return source
}

// TestDocument: the document names the holders, and stays with its token.
func TestDocument(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	b, _ := backend(t, addr, long, index, eslock.Owner(func() string { return "host-7" }))
	tenure, err := b.RLock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	d := stored(t, addr, "testdocument", scope)
	if d.Token != 1 || len(d.Holders) != 1 || d.Holders[0].Owner != "host-7" || d.Holders[0].Mode != "shared" || d.Holders[0].Token != 1 {
		t.Errorf("held: %+v", d)
	}
	if err := tenure.Unlock(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if d := stored(t, addr, "testdocument", scope); d.Token != 1 || len(d.Holders) != 0 {
		t.Errorf("released: %+v", d)
	}
}

// TestScopes: any name is a lock of its own.
func TestScopes(t *testing.T) {
	addr := node.Get(t).Addr
	b, _ := backend(t, addr, long, created(t, addr))
	for _, scope := range []string{".", "..", "/", "a/../b", "b", "/b", "a b", "a+b", "a%20b", "_doc", "ä", strings.Repeat("x", 512)} {
		tenure, err := b.TryLock(bounded(t), scope)
		if err != nil {
			t.Errorf("%.20q: %v", scope, err)
			continue
		}
		if g := tenure.Grant(); g.Token != 1 || g.Scope != scope {
			t.Errorf("%.20q: %+v", scope, g)
		}
		if _, err := b.TryLock(bounded(t), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("%.20q, held: %v", scope, err)
		}
	}
	for _, scope := range []string{"", strings.Repeat("x", 513), "\xff"} {
		if _, err := b.TryLock(bounded(t), scope); !errors.Is(err, fence.ErrInvalidScope) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%.20q: %v", scope, err)
		}
	}
}

// TestTokenOf64Bits: a token above 2^53 is exact.
func TestTokenOf64Bits(t *testing.T) {
	addr := node.Get(t).Addr
	b, _ := backend(t, addr, long, created(t, addr))
	put(t, addr, "testtokenof64bits", scope, `{"token": 9007199254740993, "holders": []}`)
	if g := take(t, b).Grant(); g.Token != 9007199254740994 {
		t.Errorf("token %d", g.Token)
	}
}

func put(t *testing.T, addr, index, id, body string) {
	t.Helper()
	send(t, http.MethodPut, addr, index+"/_doc/"+url.PathEscape(id), body)
}

// remove removes an index.
func remove(t *testing.T, addr, index string) {
	t.Helper()
	send(t, http.MethodDelete, addr, index, "")
}

func send(t *testing.T, method, addr, path, body string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+addr+"/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		said, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s", resp.Status, said)
	}
}

// TestDeadReader: a reader that is cut off leaves the lock when its lease is over, and another
// reader keeps it.
func TestDeadReader(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	first, cut := backend(t, addr, ttl, index)
	second, _ := backend(t, addr, 3*ttl, index)
	writer, _ := backend(t, addr, ttl, index)
	dead, err := first.RLock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := second.RLock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	cut.Crash()
	<-dead.Done()
	if !errors.Is(dead.Err(), lock.ErrCutOff) {
		t.Errorf("the dead one: %v", dead.Err())
	}
	short, cancel := context.WithTimeout(bounded(t), 3*ttl)
	defer cancel()
	if _, err := writer.Lock(short, scope); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("beside a living reader: %v", err)
	}
	if alive.Err() != nil {
		t.Fatal(alive.Err())
	}
	if err := alive.Unlock(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if g := take(t, writer).Grant(); g.Token <= alive.Grant().Token {
		t.Errorf("token %d after %d", g.Token, alive.Grant().Token)
	}
	cut.Wake()
	if err := dead.Unlock(bounded(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the dead one unlocks: %v", err)
	}
}

// TestTryLockRemembers: who asks now and then, and never waits, gets the lock of a dead holder.
func TestTryLockRemembers(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	first, cut := backend(t, addr, ttl, index)
	second, _ := backend(t, addr, ttl, index)
	dead := take(t, first)
	cut.Crash()
	<-dead.Done()
	ctx := bounded(t)
	_, err := second.TryLock(ctx, scope)
	for err != nil && ctx.Err() == nil { // it is held, or the answer came after the lease
		_, err = second.TryLock(ctx, scope)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestLossIsTold: a holder whose name was taken off the document is told at its next renewal,
// and takes nothing again.
func TestLossIsTold(t *testing.T) {
	addr := node.Get(t).Addr
	b, _ := backend(t, addr, 3*ttl, created(t, addr)) // a renewal is answered in time
	tenure := take(t, b)
	put(t, addr, "testlossistold", scope, `{"token": 7, "holders": []}`)
	<-tenure.Done()
	if !errors.Is(tenure.Err(), lock.ErrLost) {
		t.Error(tenure.Err())
	}
	if d := stored(t, addr, "testlossistold", scope); d.Token != 7 || len(d.Holders) != 0 {
		t.Errorf("after the loss: %+v", d)
	}
}

// lossy is a proxy before a node, which can do a change and break the connection, or break it
// first and do the change when it is told to.
type lossy struct {
	addr string
	lose atomic.Bool // the answer of the next change
	slow atomic.Bool // the answer of the next change takes as long as the lease
	hold atomic.Bool // the next change, until late is closed
	late chan struct{}
	done chan int // the status of a change that was late
}

func newLossy(t *testing.T, node string) *lossy {
	t.Helper()
	l := &lossy{late: make(chan struct{}), done: make(chan int, 1)}
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: node})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && l.lose.CompareAndSwap(true, false):
			to.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodPut && l.slow.CompareAndSwap(true, false):
			asked := time.Now()
			answer := httptest.NewRecorder()
			to.ServeHTTP(answer, r)
			time.Sleep(time.Until(asked.Add(ttl)))
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		case r.Method == http.MethodPut && l.hold.CompareAndSwap(true, false):
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			later, err := http.NewRequest(r.Method, "http://"+node+r.URL.RequestURI(), strings.NewReader(string(body)))
			if err != nil {
				panic(err)
			}
			later.Header = r.Header
			go func() {
				<-l.late
				resp, err := http.DefaultClient.Do(later)
				if err != nil {
					l.done <- 0
					return
				}
				resp.Body.Close()
				l.done <- resp.StatusCode
			}()
			panic(http.ErrAbortHandler)
		default:
			to.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	l.addr = strings.TrimPrefix(server.URL, "http://")
	return l
}

// TestLostAnswer: a lock whose grant was not answered is given back, and the error is definite.
func TestLostAnswer(t *testing.T) {
	addr := node.Get(t).Addr
	l := newLossy(t, addr)
	b, _ := backend(t, l.addr, long, created(t, addr))
	l.lose.Store(true)
	if _, err := b.TryLock(bounded(t), scope); err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("the answer was lost: %v", err)
	}
	tenure, err := b.TryLock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	if g := tenure.Grant(); g.Token != 2 {
		t.Errorf("token %d, want the one after that of the lost grant", g.Token)
	}
}

// TestLateAnswer: a lease that was over when the answer came is none, and a waiter asks
// again under another name, so that no two tenures share one.
func TestLateAnswer(t *testing.T) {
	addr := node.Get(t).Addr
	l := newLossy(t, addr)
	names := 0
	b, _ := backend(t, l.addr, ttl, created(t, addr), eslock.Owner(func() string {
		names++
		return fmt.Sprint("name-", names)
	}))
	l.slow.Store(true)
	if g := take(t, b).Grant(); g.Owner != "name-2" || g.Token < 2 {
		t.Errorf("%+v was granted, want name-2, with a later token than the grant to name-1, which was late", g)
	}
}

// TestLateRequest: a request for the lock that comes when the attempt has failed takes nothing.
func TestLateRequest(t *testing.T) {
	addr := node.Get(t).Addr
	for _, there := range []bool{false, true} {
		t.Run(fmt.Sprintf("document %v", there), func(t *testing.T) {
			l := newLossy(t, addr)
			b, _ := backend(t, l.addr, long, created(t, addr))
			if there {
				if err := take(t, b).Unlock(bounded(t)); err != nil {
					t.Fatal(err)
				}
			}
			l.hold.Store(true)
			if _, err := b.TryLock(bounded(t), scope); err == nil || fence.OutcomeOf(err) != fence.Definite {
				t.Fatalf("the request is on its way: %v", err)
			}
			close(l.late)
			if status := <-l.done; status != http.StatusConflict {
				t.Errorf("the late request has status %d", status)
			}
			if _, err := b.TryLock(bounded(t), scope); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnlockUnanswered: an unlock without an answer says so, and a second one finds out.
func TestUnlockUnanswered(t *testing.T) {
	addr := node.Get(t).Addr
	l := newLossy(t, addr)
	b, _ := backend(t, l.addr, long, created(t, addr))
	tenure := take(t, b)
	l.lose.Store(true)
	if err := tenure.Unlock(bounded(t)); !errors.As(err, new(*lock.UnknownError)) {
		t.Errorf("unanswered: %v", err)
	}
	if err := tenure.Unlock(bounded(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("once more: %v", err)
	}
}

// TestErrors: each says what is wrong, and what to do, and is definite.
func TestErrors(t *testing.T) {
	addr := node.Get(t).Addr
	put(t, addr, "testerrors", scope, `{"process_id": "another's"}`)
	nobody := proctest.Nobody(t)
	for name, tt := range map[string]struct {
		address string
		some    []eslock.Option
		want    string
	}{
		"no index":           {"http://" + addr, []eslock.Option{eslock.Index("nowhere")}, "there is no index nowhere: Create makes it"},
		"another's document": {"http://" + addr, []eslock.Option{eslock.Index("testerrors")}, "is no lock of this package"},
		"nobody there":       {"http://user:secret@" + nobody, nil, nobody},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := eslock.New(tt.address, ttl, tt.some...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Lock(bounded(t), scope)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || fence.OutcomeOf(err) != fence.Definite {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

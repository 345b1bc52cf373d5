package kvhttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// BenchmarkHTTPWrite compares a fenced write over HTTP with a handler that does
// nothing: in one process, over loopback connections that are kept alive, the
// two in turns, so that whatever else the machine does hits both. The metric
// of-noop is the storage's rate as a part of the other's.
func BenchmarkHTTPWrite(b *testing.B) {
	noop := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, p := range []struct{ conns, keys int }{{1, 1}, {16, 1}, {16, 1_000}, {16, 1_000_000}} {
		b.Run(fmt.Sprintf("conns=%d/keys=%d", p.conns, p.keys), func(b *testing.B) {
			m := kv.NewMemory(kv.Options{})
			for i := range p.keys {
				req := kv.Request{Claim: fence.Claim{Scope: keyName(i), Token: 1}}
				if err := m.Write(context.Background(), req, kv.Op{Kind: kv.OpWrite, Key: keyName(i), Value: "value"}); err != nil {
					b.Fatal(err)
				}
			}
			storage := kvhttp.NewHandler(m, kvhttp.Options{Metrics: kvhttp.NewMetrics()})
			reference, ours := dialHTTP(b, noop, p.conns), dialHTTP(b, storage, p.conns)
			const turn = 2000
			var tookReference, tookOurs time.Duration
			done := 0
			for b.Loop() {
				tookReference += reference.send(b, done, turn, p.keys)
				tookOurs += ours.send(b, done, turn, p.keys)
				done += turn
			}
			b.ReportMetric(float64(tookReference)/float64(tookOurs), "of-noop")
			b.ReportMetric(float64(tookReference.Nanoseconds())/float64(done), "noop-ns/request")
			b.ReportMetric(float64(tookOurs.Nanoseconds())/float64(done), "storage-ns/request")
			b.ReportMetric(0, "ns/op") // of a turn of both: means nothing
		})
	}
}

// keyName is the i-th key, which is also its scope.
func keyName(i int) string { return fmt.Sprintf("key-%012d", i) }

// load is a server and the connections that send to it. The requests are
// written by hand, so that the client costs little beside the server.
type load struct{ conns []net.Conn }

func dialHTTP(b *testing.B, h http.Handler, n int) load {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(ln) }()
	b.Cleanup(func() { srv.Close() })
	var l load
	for range n {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		l.conns = append(l.conns, conn)
	}
	return l
}

// send shares n requests among the connections, each of another key, and says
// how long they took.
func (l load) send(b *testing.B, from, n, keys int) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for c, conn := range l.conns {
		wg.Go(func() {
			buf := make([]byte, 4096)
			for i := c; i < n; i += len(l.conns) {
				request := fmt.Appendf(buf[:0], "PUT /v1/kv/key-%012d HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nContent-Length: 5\r\n\r\nvalue",
					(from+i)*7919%keys)
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				n, err := conn.Read(buf)
				if err != nil || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 204") {
					b.Errorf("%q, %v", buf[:n], err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// BenchmarkEngineWrite shows what one key more costs, from 1 to 1,000,000: time
// a write and bytes of live heap a key, each key its own scope, with its mark.
func BenchmarkEngineWrite(b *testing.B) {
	for _, keys := range []int{1, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			ctx := context.Background()
			names := make([]string, keys)
			for i := range names {
				names[i] = keyName(i)
			}
			write := func(m *kv.Memory, name string, t fence.Token) {
				req := kv.Request{Claim: fence.Claim{Scope: name, Token: t}}
				if err := m.Write(ctx, req, kv.Op{Kind: kv.OpWrite, Key: name, Value: "value"}); err != nil {
					b.Fatal(err)
				}
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			m := kv.NewMemory(kv.Options{})
			for _, name := range names {
				write(m, name, 1)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			i, token := 0, fence.Token(2)
			b.ReportAllocs()
			for b.Loop() {
				write(m, names[i], token)
				if i += 7919; i >= keys {
					i %= keys
					token++
				}
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(keys), "B/key")
		})
	}
}

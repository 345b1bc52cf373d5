// Package networktest has networks that lose what tests want lost.
package networktest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// Lossy passes requests on to a server. It counts the writes, and loses the answer to the next one when Loses is true.
type Lossy struct {
	*httptest.Server
	Loses  atomic.Bool
	Writes atomic.Int32
}

// NewLossy begins one before a server, HOST:PORT. The Host of requests stays, which may be signed.
func NewLossy(t *testing.T, server string, isWrite func(*http.Request) bool) *Lossy {
	t.Helper()
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	l := new(Lossy)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isWrite(r) {
			pass.ServeHTTP(w, r)
			return
		}
		l.Writes.Add(1)
		if !l.Loses.CompareAndSwap(true, false) {
			pass.ServeHTTP(w, r)
			return
		}
		pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(l.Close)
	return l
}

package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/platform/webpage"
)

// Answers are the account of a storage that speaks HTTP: what it said that it did.
type Answers struct {
	mu   sync.Mutex
	done []string
	err  error // of a request of which nobody knows what became
}

// Changes are what was changed since the last call.
func (a *Answers) Changes(context.Context) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done := a.done
	a.done = nil
	return done, a.err
}

func (a *Answers) Close() error { return nil }

// take takes in an answer to a request: a status, or why there was none.
func (a *Answers) take(what string, status int, err error) (said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	said = fmt.Sprintf("%d %s", status, http.StatusText(status))
	if err != nil {
		said = noAnswer + ": " + err.Error()
	}
	switch {
	case err == nil && status >= 200 && status < 300:
		a.done = append(a.done, what)
	case err != nil || status < 400 || status >= 500:
		a.err = errors.Join(a.err, fmt.Errorf("whether %s was done is not known: %s", what, said))
	}
	return said
}

// overHTTP is a proxy before a storage.
type overHTTP struct {
	*Gate
	to      *url.URL // of the storage
	answers *Answers
	out     *http.Transport
}

// OpenHTTP opens a gate before a storage at a URL, whose account is answers.
func OpenHTTP(to *url.URL, answers *Answers) (*Gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &overHTTP{
		Gate: newGate(l.Addr().String()), to: to, answers: answers,
		out: &http.Transport{DisableKeepAlives: true}, // so that nothing is sent twice
	}
	server := &http.Server{Handler: webpage.Guard(g), ReadHeaderTimeout: 10 * time.Second}
	g.end = func() { _ = server.Close() } // whoever still asks is ended as well
	go server.Serve(l)                    // it ends with Close
	return g.Gate, nil
}

// ServeHTTP takes requests to the gate, which are for the storage, and those of clients whose proxy it is.
func (g *overHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		http.Error(w, "gcsim watch sees no requests in a tunnel: ask the storage by http, at FENCELAB_STORAGE", http.StatusNotImplemented)
	case r.URL.IsAbs() && r.URL.Host != g.to.Host:
		g.forward(w, r, r.URL) // it is none of the storage's
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		g.forward(w, r, g.at(r.URL))
	default:
		g.change(w, r)
	}
}

func (g *overHTTP) at(u *url.URL) *url.URL {
	at := *u
	at.Scheme, at.Host = g.to.Scheme, g.to.Host
	if !u.IsAbs() {
		base := strings.TrimSuffix(g.to.EscapedPath(), "/")
		at.Path, at.RawPath = strings.TrimSuffix(g.to.Path, "/")+u.Path, base+u.EscapedPath()
	}
	return &at
}

func (g *overHTTP) change(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxHeld))
	if err != nil {
		http.Error(w, fmt.Sprintf("gcsim watch holds requests of at most %d bytes: %v", MaxHeld, err), http.StatusRequestEntityTooLarge)
		return
	}
	q, passed := g.hold(r.Method + " " + g.at(r.URL).String())
	if !passed {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	status, err := g.forward(w, r, g.at(r.URL))
	q.answered(g.answers.take(q.What, status, err))
}

func (g *overHTTP) forward(w http.ResponseWriter, r *http.Request, to *url.URL) (status int, err error) {
	err = errors.New("the request was broken off")
	proxy := &httputil.ReverseProxy{
		Transport: g.out,
		Rewrite:   func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = to, to.Host },
		ModifyResponse: func(resp *http.Response) error {
			status, err = resp.StatusCode, nil
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, broken error) {
			err = broken
			http.Error(w, "the storage gave no answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	// What was sent arrives, also without its client. A context that cannot end would let the proxy look
	// for itself whether the client is there.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	proxy.ServeHTTP(w, r.WithContext(ctx))
	return status, err
}

package watch

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
	"time"

	"github.com/fencelab/fencelab/internal/platform/webpage"
)

const maxBody = 16 << 20 // bytes of a request that is held

// gate is a proxy before the storage. It holds what may change something until it is told to let it pass.
type gate struct {
	to       *url.URL // of the storage
	addr     string   // of the gate
	requests chan *request
	server   *http.Server
	out      *http.Transport
	closed   chan struct{}
}

type request struct {
	method, path string
	header       http.Header
	body         []byte
	pass         chan struct{}   // closed when it may pass
	answer       chan answer     // what the storage answered, when it has passed
	gone         <-chan struct{} // closed when the client does not wait any more
}

// answer is that of the storage; err: there was none.
type answer struct {
	status int
	err    error
}

func (a answer) String() string {
	if a.err != nil {
		return "no answer: " + a.err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
}

// done reports whether the storage did what it was asked for.
func (a answer) done() bool { return a.err == nil && a.status >= 200 && a.status < 300 }

// refused reports whether the storage surely did not do it.
func (a answer) refused() bool { return a.err == nil && a.status >= 400 && a.status < 500 }

func openGate(to *url.URL) (*gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{
		to: to, addr: l.Addr().String(), requests: make(chan *request), closed: make(chan struct{}),
		out: &http.Transport{DisableKeepAlives: true}, // so that nothing is sent twice
	}
	g.server = &http.Server{Handler: webpage.Guard(g), ReadHeaderTimeout: 10 * time.Second}
	go g.server.Serve(l) // it ends with Close
	return g, nil
}

func (g *gate) close() {
	close(g.closed)
	_ = g.server.Close() // whoever still asks is ended as well
	g.out.CloseIdleConnections()
}

// ServeHTTP takes requests to the gate, which are for the storage, and those of clients whose proxy it is.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		http.Error(w, "gcsim watch sees no requests in a tunnel: ask the storage by http, at FENCELAB_STORAGE", http.StatusNotImplemented)
	case r.URL.IsAbs() && r.URL.Host != g.to.Host:
		g.forward(w, r, r.URL) // it is none of the storage's
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		g.forward(w, r, g.at(r.URL))
	default:
		g.hold(w, r)
	}
}

func (g *gate) at(u *url.URL) *url.URL {
	at := *u
	at.Scheme, at.Host = g.to.Scheme, g.to.Host
	if !u.IsAbs() {
		base := strings.TrimSuffix(g.to.EscapedPath(), "/")
		at.Path, at.RawPath = strings.TrimSuffix(g.to.Path, "/")+u.Path, base+u.EscapedPath()
	}
	return &at
}

func (g *gate) hold(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("gcsim watch holds requests of at most %d bytes: %v", maxBody, err), http.StatusRequestEntityTooLarge)
		return
	}
	q := &request{
		method: r.Method, path: g.at(r.URL).String(), header: r.Header.Clone(), body: body,
		pass: make(chan struct{}), answer: make(chan answer, 1), gone: r.Context().Done(),
	}
	select {
	case g.requests <- q:
	case <-g.closed:
		return
	}
	select {
	case <-q.pass:
	case <-g.closed:
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	q.answer <- g.forward(w, r, g.at(r.URL))
}

func (g *gate) forward(w http.ResponseWriter, r *http.Request, to *url.URL) (got answer) {
	got.err = errors.New("the request was broken off")
	proxy := &httputil.ReverseProxy{
		Transport: g.out,
		Rewrite:   func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = to, to.Host },
		ModifyResponse: func(resp *http.Response) error {
			got = answer{status: resp.StatusCode}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			got = answer{err: err}
			http.Error(w, "the storage gave no answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	// What was sent arrives, also without its client. A context that cannot end would let the proxy look
	// for itself whether the client is there.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	proxy.ServeHTTP(w, r.WithContext(ctx))
	return got
}

// again makes the same request as another client, with another token where the first one had its own.
func (g *gate) again(ctx context.Context, q *request, token, other string) answer {
	r, err := http.NewRequestWithContext(ctx, q.method, q.path, bytes.NewReader(q.body))
	if err != nil {
		return answer{err: err}
	}
	r.Header = q.header.Clone()
	r.Header.Del("X-Request-Id")
	for name, values := range r.Header {
		if token != "" && len(values) == 1 && values[0] == token {
			r.Header.Set(name, other)
		}
	}
	resp, err := g.out.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	return answer{status: resp.StatusCode, err: resp.Body.Close()}
}

package kvhttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fencelab/fencelab/internal/webpage"
)

const (
	pathKV    = "/v1/kv/"
	pathMarks = "/v1/marks/"
	pathFloor = "/v1/floor"
	pathBatch = "/v1/batch"
)

// The paths that monitors ask every few seconds for ever.
const (
	PathHealth  = "/healthz"
	PathReady   = "/readyz"
	PathMetrics = "/metrics"
)

// noRoute is the name that metrics have for paths without a route.
const noRoute = "(none)"

// route serves a path, or all paths that begin so.
type route struct {
	path    string
	rest    string   // how /openapi.yaml names what comes after path; "": nothing may
	methods []string // others are refused; nil: none is
	open    bool     // serve is for everybody, or asks who it is; web pages of other origins are refused all the same
	waits   bool     // serve may wait for others
	serve   func(*call) error

	handler *handler
	counts  map[string]map[string]prometheus.Counter // by method and outcome; nil: there are no metrics
}

// name is the route's in metrics, in traces and in /openapi.yaml.
func (at *route) name() string { return at.path + at.rest }

// protocol are the routes of docs/protocol.md. Those that most requests are for come first.
func (h *handler) protocol() []*route {
	read, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	return []*route{
		{path: pathKV, rest: "{key}", methods: append(read[:2:2], http.MethodPut, http.MethodDelete), serve: h.serveKey},
		{path: "/", methods: post, serve: h.serveContribLock, open: true},
		{path: pathBatch, methods: post, serve: h.serveBatch},
		{path: pathMarks, rest: "{scope}", methods: read, serve: h.serveMark},
		{path: pathFloor, methods: append(read[:2:2], http.MethodPut), serve: h.serveFloor},
		{path: "/v1/snapshot", methods: []string{http.MethodGet}, serve: h.serveSnapshot, waits: true},
		{path: PathHealth, methods: read, serve: serveHealth, open: true},
		{path: PathReady, methods: read, serve: h.serveReady, open: true, waits: true},
		{path: "/openapi.yaml", methods: read, serve: serveOpenAPI, open: true},
		{path: PathMetrics, methods: read, serve: h.serveMetrics, waits: true},
	}
}

func (h *handler) add(r *route) *route {
	r.handler = h
	if h.Metrics != nil {
		r.counts = h.Metrics.route(r.name(), r.methods)
	}
	return r
}

// ServeHTTP serves by the routes. A path is matched as the client wrote it. Keys may hold any
// characters, "//", ".." and an encoded "/" too: a path that was cleaned or decoded first would
// be another key.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	for _, at := range h.routes {
		if path == at.path || at.rest != "" && strings.HasPrefix(path, at.path) {
			at.ServeHTTP(w, r)
			return
		}
	}
	h.noRoute.ServeHTTP(w, r)
}

func noSuchPath(c *call) error {
	return &httpError{http.StatusNotFound, fmt.Errorf("no such path: %q; the protocol is described at /openapi.yaml", c.r.URL.EscapedPath())}
}

// do serves those who may call.
func (at *route) do(c *call) error {
	if err := webpage.Check(c.r, at.handler.Loopback); err != nil {
		return err
	}
	if !at.open {
		if err := at.handler.admit(c); err != nil {
			return err
		}
	}
	if at.methods != nil && !slices.Contains(at.methods, c.r.Method) {
		list := strings.Join(at.methods, ", ")
		c.w.Header().Set("Allow", list)
		return &httpError{http.StatusMethodNotAllowed, fmt.Errorf("method %s is not allowed here, only %s", c.r.Method, list)}
	}
	return at.serve(c)
}

package kvhttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	pathKV    = "/v1/kv/"
	pathMarks = "/v1/marks/"
	pathFloor = "/v1/floor"
	pathBatch = "/v1/batch"
)

// route is a path, or all paths that begin so, and what serves it.
type route struct {
	path    string
	rest    string   // how /openapi.yaml names what comes after path; "": nothing may
	methods []string // others are refused; nil: serve refuses them
	open    bool     // serve is for everybody, or asks who it is; web pages of other origins are refused all the same
	serve   func(*call) error
}

// protocol has the routes of docs/protocol.md. Those that most requests are for come
// first.
func (h *handler) protocol() []route {
	read, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	return []route{
		{path: pathKV, rest: "{key}", serve: h.serveKey},
		{path: "/", methods: post, serve: h.serveContribLock, open: true},
		{path: pathBatch, methods: post, serve: h.serveBatch},
		{path: pathMarks, rest: "{scope}", methods: read, serve: h.serveMark},
		{path: pathFloor, methods: []string{http.MethodGet, http.MethodHead, http.MethodPut}, serve: h.serveFloor},
		{path: "/v1/snapshot", methods: []string{http.MethodGet}, serve: h.serveSnapshot},
		{path: "/healthz", methods: read, serve: serveHealth, open: true},
		{path: "/readyz", methods: read, serve: h.serveReady, open: true},
		{path: "/openapi.yaml", methods: read, serve: serveOpenAPI, open: true},
		{path: "/metrics", methods: read, serve: h.serveMetrics},
	}
}

// find takes a path as it is. Keys may hold any characters, "//" and ".." too: a path
// that was cleaned, as by http.ServeMux, would be another key.
func (h *handler) find(path string) *route {
	for i := range h.routes {
		if r := &h.routes[i]; path == r.path || r.rest != "" && strings.HasPrefix(path, r.path) {
			return r
		}
	}
	return &h.other
}

func noSuchPath(c *call) error {
	return &httpError{http.StatusNotFound, fmt.Errorf("no such path: %q; the protocol is described at /openapi.yaml", c.r.URL.Path)}
}

// serve serves those who may call.
func (h *handler) serve(c *call) error {
	if err := checkForeign(c.r, h.Loopback); err != nil {
		return err
	}
	if !c.route.open {
		if err := h.admit(c); err != nil {
			return err
		}
	}
	if c.route.methods != nil {
		if err := c.allow(c.route.methods...); err != nil {
			return err
		}
	}
	return c.route.serve(c)
}

// allow refuses other methods than those named.
func (c *call) allow(methods ...string) error {
	if slices.Contains(methods, c.r.Method) {
		return nil
	}
	list := strings.Join(methods, ", ")
	c.w.Header().Set("Allow", list)
	return &httpError{http.StatusMethodNotAllowed, fmt.Errorf("method %s is not allowed here, only %s", c.r.Method, list)}
}

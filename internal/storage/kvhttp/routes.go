package kvhttp

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fencelab/fencelab/internal/platform/webpage"
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
	methods []string // others are refused
	open    bool     // serve is for everybody, or asks who it is; web pages of other origins are refused all the same
	waits   bool     // serve may wait for others
	serve   func(*call) error

	handler *handler
	counts  map[string]map[string]prometheus.Counter // by method and outcome; nil: there are no metrics
}

// name is the route's in metrics, in traces and in /openapi.yaml.
func (at *route) name() string { return at.path + at.rest }

// protocol has the routes of docs/protocol.md. Those that most requests are for come first. A path is matched
// as the client wrote it. Keys may hold any characters, "//", ".." and an encoded "/" too: a path that was
// cleaned or decoded first would be another key.
func (h *handler) protocol() *mux.Router {
	read, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	routes := []*route{
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
	at := func(r *route) *mux.Route {
		if r.rest != "" {
			return router.PathPrefix(r.path)
		}
		return router.Path(r.path)
	}
	for _, r := range routes {
		at(r).Methods(r.methods...).Name(r.name()).Handler(h.add(r))
	}
	for _, r := range routes { // what has another method comes after all that is served
		refusing := *r
		refusing.serve = func(c *call) error { return c.refuseMethod(r.methods) }
		at(r).Handler(&refusing)
	}
	router.NotFoundHandler = h.add(&route{path: noRoute, open: true, serve: noSuchPath})
	return router
}

func (h *handler) add(r *route) *route {
	r.handler = h
	if h.Metrics != nil {
		r.counts = h.Metrics.route(r.name(), r.methods)
	}
	return r
}

// ServeHTTP serves by the routes. The router's own ServeHTTP would copy the request
// twice, to attach variables that no route has.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var match mux.RouteMatch
	h.router.Match(r, &match) // in any case it finds a handler, if only NotFoundHandler
	match.Handler.ServeHTTP(w, r)
}

func noSuchPath(c *call) error {
	return &httpError{http.StatusNotFound, fmt.Errorf("no such path: %q; the protocol is described at /openapi.yaml", c.r.URL.EscapedPath())}
}

func (c *call) refuseMethod(allowed []string) error {
	list := strings.Join(allowed, ", ")
	c.w.Header().Set("Allow", list)
	return &httpError{http.StatusMethodNotAllowed, fmt.Errorf("method %s is not allowed here, only %s", c.r.Method, list)}
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
	return at.serve(c)
}

//go:embed openapi.yaml
var openAPI string

func serveOpenAPI(c *call) error { return c.send(http.StatusOK, "application/yaml", openAPI) }

// Guard serves a handler that NewHandler did not make. It refuses and logs the same requests of web pages as
// NewHandler's. It uses only the options Loopback and Logger.
func Guard(h http.Handler, o Options) http.Handler {
	return (&handler{Options: o.withDefaults()}).add(&route{open: true, serve: func(c *call) error {
		h.ServeHTTP(c.w, c.r)
		return nil
	}})
}

// Check is something without which the storage cannot serve.
type Check struct {
	Name string
	// Ready returns an error that says what is waited for.
	Ready func(context.Context) error
}

// checkTimeout is how long a Check may take.
const checkTimeout = 2 * time.Second

// ask asks all that the storage needs, and tells what each waits for; nil: it is there.
func (h *handler) ask(ctx context.Context, tell func(check string, waits error)) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, check := range append([]Check{{"engine", h.engine.Ready}}, h.Ready...) {
		tell(check.Name, check.Ready(ctx))
	}
}

// serveHealth: the process answers.
func serveHealth(c *call) error { return c.send(http.StatusOK, plainText, "ok\n") }

const plainText = "text/plain; charset=utf-8"

// serveReady says of everything that the storage needs whether it is there, a
// line each; status 503 where something is not.
func (h *handler) serveReady(c *call) error {
	// Who comes while others ask shares their answer: anybody may ask.
	text, lacks, _ := h.asking.Do("", func() (text any, lacks error) {
		said := ""
		h.ask(c.context(), func(check string, waits error) {
			state := "ok"
			if waits != nil {
				state, lacks = "waits for "+waits.Error(), waits
			}
			said += check + ": " + state + "\n"
		})
		return said, lacks
	})
	status := http.StatusOK
	if lacks != nil {
		status = http.StatusServiceUnavailable
	}
	return c.send(status, plainText, text.(string))
}

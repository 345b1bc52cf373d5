package kv

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"syscall"

	"github.com/gorilla/mux"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// HeaderRequestID names a request in logs and in the journal.
const HeaderRequestID = "X-Request-Id"

// DefaultMaxBody is the largest request body, in bytes, where no other is set.
const DefaultMaxBody = 1 << 20

// HandlerOptions may be left zero.
type HandlerOptions struct {
	// MaxBody is the largest request body, in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// Logger gets a line per refusal at level Info, and per request at Debug.
	// Nil: nothing is logged.
	Logger *slog.Logger
	// Metrics counts requests and serves itself as /metrics. Nil: neither.
	Metrics *Metrics
}

type handler struct {
	engine  Engine
	maxBody int64
	log     *slog.Logger
	metrics *Metrics
}

// NewHandler serves engine by the protocols of docs/protocol.md.
func NewHandler(engine Engine, o HandlerOptions) http.Handler {
	h := &handler{engine: engine, maxBody: o.MaxBody, log: o.Logger, metrics: o.Metrics}
	if h.maxBody == 0 {
		h.maxBody = DefaultMaxBody
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	// Keys may hold any characters, "//" and ".." too: a path that the router
	// cleaned would be another key. Few routes: each costs its match in every
	// request behind it.
	r := mux.NewRouter().SkipClean(true)
	r.PathPrefix(pathKV).Handler(h.handle(h.serveKey))
	r.Path("/").Handler(h.handle(h.serveContribLock))
	r.Path("/v1/batch").Handler(h.handle(h.serveBatch))
	r.PathPrefix(pathMarks).Handler(h.handle(h.serveMark))
	r.Path("/healthz").Handler(h.handle(serveOK))
	r.Path("/readyz").Handler(h.handle(serveOK))
	if h.metrics != nil {
		r.Path("/metrics").Handler(h.metrics)
	}
	r.NotFoundHandler = h.handle(func(_ http.ResponseWriter, r *http.Request) error {
		return &httpError{http.StatusNotFound, fmt.Errorf("no such path: %s; the protocol has /, %s{key}, /v1/batch, %s{scope}, /healthz, /readyz and /metrics", r.URL.Path, pathKV, pathMarks)}
	})
	return matcher{r}
}

// matcher serves by a router's routes. The router's own ServeHTTP would copy the
// request twice, to attach variables that no route of ours has.
type matcher struct{ routes *mux.Router }

func (m matcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var match mux.RouteMatch
	m.routes.Match(r, &match) // at the least it finds the NotFoundHandler
	match.Handler.ServeHTTP(w, r)
}

const (
	pathKV    = "/v1/kv/"
	pathMarks = "/v1/marks/"
)

func serveOK(w http.ResponseWriter, r *http.Request) error {
	if err := allow(w, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	_, err := io.WriteString(w, "ok\n")
	return err
}

// httpError is an error with the HTTP status that tells it.
type httpError struct {
	status int
	err    error
}

func (e *httpError) Error() string { return e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

func badRequest(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// handle is the one place where errors become answers, log lines and counts.
func (h *handler) handle(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := serve(w, r)
		if h.metrics != nil {
			h.metrics.count(r.Method, err)
		}
		if err == nil {
			return
		}
		if errors.Is(err, fence.ErrDuplicate) {
			w.Header().Set(fencehttp.HeaderDuplicate, "true")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		p := problem(err)
		if p.Reason != "" {
			h.log.Info("refused", "reason", p.Reason, "method", r.Method, "path", r.URL.Path,
				"scope", p.Scope, "token", p.Token, "mark", p.Mark, "request", r.Header.Get(HeaderRequestID))
		} else {
			h.log.Debug("failed", "method", r.Method, "path", r.URL.Path, "status", p.Status, "err", err)
		}
		var told *answered
		if !errors.As(err, &told) {
			p.Write(w)
		}
	})
}

// answered is an error that the client was told already, in its own protocol.
type answered struct{ err error }

func (e *answered) Error() string { return e.err.Error() }
func (e *answered) Unwrap() error { return e.err }

func problem(err error) fencehttp.Problem {
	if p, ok := fencehttp.NewProblem(err); ok {
		return p
	}
	p := fencehttp.Problem{Type: "about:blank", Status: status(err), Detail: err.Error()}
	p.Title = http.StatusText(p.Status)
	return p
}

func status(err error) int {
	var he *httpError
	switch {
	case errors.As(err, &he):
		return he.status
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, fence.ErrNoBound), errors.Is(err, ErrClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, syscall.ENOSPC):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// allow refuses other methods than those named.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) error {
	for _, m := range methods {
		if r.Method == m {
			return nil
		}
	}
	list := strings.Join(methods, ", ")
	w.Header().Set("Allow", list)
	return &httpError{http.StatusMethodNotAllowed, fmt.Errorf("method %s is not allowed here, only %s", r.Method, list)}
}

// eager is up to what size a body's memory is set aside before it arrives; a
// client that announces more must send it first.
const eager = 16 << 10

// body reads a request's whole body before anything is done, so that a client
// that dies half-way changes nothing and one that is slow holds no lock.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.maxBody {
		return nil, h.tooLarge()
	}
	if n := r.ContentLength; 0 <= n && n <= eager {
		b := make([]byte, n)
		if _, err := io.ReadFull(r.Body, b); err != nil {
			return nil, badRequest("the body ends early: %w", err)
		}
		return b, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, h.tooLarge()
	}
	if err != nil {
		return nil, badRequest("the body ends early: %w", err)
	}
	return b, nil
}

func (h *handler) tooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, fmt.Errorf("the body is over the limit of %d bytes", h.maxBody)}
}

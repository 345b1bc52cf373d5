package fencehttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Options of Middleware.
type Options struct {
	// Scope names the lock that guards the requested resource. It is required:
	// the server decides which mark a request is judged by, or a client could
	// pass by naming a lock that nobody holds, or none, or by another spelling of
	// a path. So give the lock's name, and not what the client wrote. A request
	// that names another one in Fencing-Scope is refused as invalid. Where Scope
	// is nil or returns "", each fenced request is answered with 500.
	Scope func(*http.Request) string
	// MaxBody is the largest request body, in bytes; 0 means 1 MiB. A larger one
	// is answered with 413.
	MaxBody int64
	// Report, if there is one, is told of each claim that is judged, as by
	// fence.Watch, and of each that is refused for its form before the Guard sees
	// it: that claim has the scope alone. ctx is the request's context.
	Report func(ctx context.Context, c fence.Claim, refused error)
}

const defaultMaxBody = 1 << 20

// Middleware puts the check of g in front of a handler, for any net/http router.
// Check and handler are one step: while the handler runs, no other fenced request
// of the scope does. A client that gives up while it waits for its turn gives up
// its turn; the handler does not run for it. The handler's request has the
// context that g hands to an operation.
//
// Requests that write (all methods but GET, HEAD, OPTIONS and TRACE) need a
// token, also where a header such as X-HTTP-Method-Override names the method that
// writes; one that reads may carry it and then raises the mark, but its sequence
// number is ignored. A refusal is a problem document, and the handler is not
// called. A duplicate is answered with 200 and Fencing-Duplicate: true, without a
// body. A handler's status of 400 and over means that the operation failed: its
// sequence number may be used again.
//
// So that no slow client holds up a scope, a fenced request's body is read
// before the handler runs and its answer is sent afterwards; both are kept in
// memory meanwhile. A handler that streams does not belong behind it.
func Middleware(g fence.Guard, o Options) func(http.Handler) http.Handler {
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.Report != nil {
		g = fence.Watch(g, o.Report)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !fenced(r) {
				next.ServeHTTP(w, r)
				return
			}
			claim, err := o.claim(r)
			if err != nil {
				if o.Report != nil && !errors.Is(err, errNoScope) {
					o.Report(r.Context(), claim, err)
				}
				writeError(w, err)
				return
			}
			if reads(r) {
				if claim.Token == 0 {
					next.ServeHTTP(w, r)
					return
				}
				claim.Sequence = 0
			}
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, o.MaxBody))
			if err != nil {
				writeError(w, err)
				return
			}
			answer := recorder{header: w.Header().Clone()}
			err = g.Do(r.Context(), claim, func(ctx context.Context) error {
				r := r.WithContext(ctx) // the caller's own stays as it is
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(&answer, r)
				if answer.status >= 400 {
					return errHandlerFailed
				}
				return nil
			})
			switch {
			case err == nil, errors.Is(err, errHandlerFailed):
				answer.send(w)
			case errors.Is(err, fence.ErrDuplicate):
				w.Header().Set(HeaderDuplicate, "true")
			default:
				writeError(w, err)
			}
		})
	}
}

var errHandlerFailed = errors.New("fencehttp: the handler failed")

func (o Options) claim(r *http.Request) (fence.Claim, error) {
	if o.Scope == nil {
		return fence.Claim{}, fmt.Errorf("%w: set Options.Scope of fencehttp.Middleware", errNoScope)
	}
	scope := o.Scope(r)
	if scope == "" {
		return fence.Claim{}, fmt.Errorf("%w: Options.Scope of fencehttp.Middleware returned no name for %s", errNoScope, r.URL.Path)
	}
	claim, err := ParseClaim(r.Header, scope)
	if err == nil && claim.Scope != scope {
		err = headerError(HeaderScope, &scopeError{given: claim.Scope, want: scope})
	}
	if err != nil {
		return fence.Claim{Scope: scope}, err
	}
	return claim, nil
}

// errNoScope is a mistake of the server's, and no refusal of the claim.
var errNoScope = errors.New("the server does not say which lock guards this resource, and nothing was done")

type scopeError struct{ given, want string }

func (e *scopeError) Error() string {
	return fence.ErrInvalidScope.Error() + ": it names " + strconv.Quote(e.given) + ", but this resource is guarded by " + strconv.Quote(e.want)
}

func (e *scopeError) Unwrap() error { return fence.ErrInvalidScope }

// fenced reports whether a request writes, or shows anything of a claim.
func fenced(r *http.Request) bool {
	return !reads(r) || claims(r.Header)
}

// claims reports whether a request shows anything of a claim.
func claims(h http.Header) bool {
	return h[HeaderToken] != nil || h[HeaderScope] != nil || h[HeaderSequence] != nil || h[HeaderMode] != nil
}

// overrides are the headers by which a handler may take a request for one of another method.
var overrides = []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"}

// reads reports whether a request has a method that reads, whichever of its methods the
// handler goes by.
func reads(r *http.Request) bool {
	for _, name := range overrides {
		for _, method := range r.Header.Values(name) {
			if !safe(strings.ToUpper(method)) {
				return false
			}
		}
	}
	return safe(r.Method)
}

func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func writeError(w http.ResponseWriter, err error) {
	if p, ok := NewProblem(err); ok {
		p.Write(w)
		return
	}
	p := Problem{Type: "about:blank", Status: http.StatusServiceUnavailable, Detail: err.Error()}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		p.Status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errNoScope):
		p.Status = http.StatusInternalServerError
	}
	p.Title = http.StatusText(p.Status)
	p.Write(w)
}

// recorder keeps a handler's answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

func (r *recorder) send(w http.ResponseWriter) {
	clear(w.Header()) // r.header began with all of it, and the handler may have deleted some
	maps.Copy(w.Header(), r.header)
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	// An error here means that the client is gone; the operation stands.
	_, _ = w.Write(r.body.Bytes())
}

package kvhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/access"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/webpage"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// HeaderOutcome is in every answer of the storage with a status from 500: "none",
// the request did not and will not take place, or "unknown". Where it is missing
// it is not the storage that answers.
const HeaderOutcome = "Fencing-Outcome"

// What HeaderOutcome says.
const (
	OutcomeNone    = "none"
	OutcomeUnknown = "unknown"
)

// httpError is an error with the HTTP status that tells it.
type httpError struct {
	status int
	err    error
}

func (e *httpError) Error() string { return e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

// Outcome returns fence.Definite: all that the server says by itself is a refusal.
func (e *httpError) Outcome() fence.Outcome { return fence.Definite }

func badRequest(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// answered is an error that the client was told already, in its own protocol.
type answered struct{ err error }

func (e *answered) Error() string { return e.err.Error() }
func (e *answered) Unwrap() error { return e.err }

// problem is the document that tells of an error: a refusal's has the members
// that package fencehttp gives it.
type problem struct {
	fencehttp.Problem
	Limit   string `json:"limit,omitempty"`   // which was exceeded
	Max     int64  `json:"max,omitempty"`     // what it allows
	Outcome string `json:"outcome,omitempty"` // as HeaderOutcome
}

func newProblem(err error) problem {
	unknown := fence.OutcomeOf(err) < fence.Lost
	if p, ok := fencehttp.NewProblem(err); ok && !unknown {
		if p.Token > p.Mark && p.Reason == fencehttp.ReasonStale { // kv.FlawDiffers refuses it
			p.Title = "The token differs from the mark"
		}
		if !utf8.ValidString(p.Scope) { // the detail quotes it, byte for byte
			p.Scope = ""
		}
		return problem{Problem: p}
	}
	p := problem{Problem: fencehttp.Problem{Type: "about:blank", Status: status(err), Detail: err.Error()}}
	if unknown { // which no status below 500 says
		p.Status = max(p.Status, http.StatusInternalServerError)
	}
	p.Title = http.StatusText(p.Status)
	var over *kv.LimitError
	if errors.As(err, &over) && !unknown {
		p.Type, p.Title = fencehttp.ProblemType+"limits", "Over a limit"
		p.Limit, p.Max = over.Limit, over.Max
	}
	var foreign *webpage.Error
	if errors.As(err, &foreign) {
		p.Type, p.Title = fencehttp.ProblemType+"foreign", "A web page may have sent this"
	}
	if errors.Is(err, kv.ErrDisk) {
		p.Type, p.Title = fencehttp.ProblemType+"disk", "The disk failed, nothing was written"
		if unknown {
			p.Type, p.Title = fencehttp.ProblemType+"unknown", "The disk failed, the outcome is unknown"
		}
	}
	if p.Status >= 500 {
		p.Outcome = OutcomeNone
		if unknown {
			p.Outcome = OutcomeUnknown
		}
	}
	return p
}

// status is that of an error that is no refusal of a claim.
func status(err error) int {
	var he *httpError
	var over *kv.LimitError
	var foreign *webpage.Error
	switch {
	case errors.As(err, &foreign):
		return foreign.Status
	case errors.As(err, &over):
		return limitStatus[over.Limit]
	case errors.As(err, &he):
		return he.status
	case errors.Is(err, kv.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, access.ErrUnauthenticated):
		return http.StatusUnauthorized
	case errors.Is(err, access.ErrForbidden):
		return http.StatusForbidden
	case errors.Is(err, kv.ErrDisk):
		return http.StatusInsufficientStorage
	case errors.Is(err, fence.ErrNoBound), errors.Is(err, kv.ErrClosed), errors.Is(err, kv.ErrUnavailable):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// limitStatus is the status of each limit's refusal.
var limitStatus = map[string]int{
	kv.LimitBody:        http.StatusRequestEntityTooLarge,
	kv.LimitValue:       http.StatusRequestEntityTooLarge,
	kv.LimitOps:         http.StatusRequestEntityTooLarge,
	kv.LimitKey:         http.StatusRequestURITooLong,
	kv.LimitKeys:        http.StatusInsufficientStorage,
	kv.LimitMarks:       http.StatusInsufficientStorage,
	kv.LimitMemory:      http.StatusServiceUnavailable,
	kv.LimitSnapshots:   http.StatusServiceUnavailable,
	kv.LimitConnections: http.StatusServiceUnavailable,
	kv.LimitRate:        http.StatusTooManyRequests,
}

// retryAfter is when a client that was refused for what others take up may try
// again.
const retryAfter = 1 // seconds

// write sends the document of err.
func (p problem) write(w http.ResponseWriter, err error) {
	if p.Reason != "" {
		p.Problem.Write(w)
		return
	}
	p.setHeaders(w.Header(), err)
	w.Header().Set("Content-Type", fencehttp.ContentType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client is gone
}

// setHeaders says in headers what a client must know that does not read the
// document, or gets none.
func (p problem) setHeaders(h http.Header, err error) {
	if p.Outcome != "" {
		h.Set(HeaderOutcome, p.Outcome)
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if challenge := access.Challenge(err); challenge != "" {
			h.Set("WWW-Authenticate", challenge)
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
}

package kvhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/platform/webpage"
	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// HeaderOutcome is in every answer of the storage with a status from 500: "none", the request did not and
// will not take place, or "unknown". Where it is missing it is not the storage that answers.
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
	status, _ := kindOf(err)
	p := problem{Problem: fencehttp.Problem{Type: "about:blank", Status: status, Detail: err.Error()}}
	if unknown { // which no status below 500 says
		p.Status = max(p.Status, http.StatusInternalServerError)
	}
	p.Title = http.StatusText(p.Status)
	if over, ok := errors.AsType[*kv.LimitError](err); ok && !unknown {
		p.Type, p.Title = fencehttp.ProblemType+"limits", "Over a limit"
		p.Limit, p.Max = over.Limit, over.Max
	}
	if _, ok := errors.AsType[*webpage.Error](err); ok {
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

// kinds are what is known of errors that are no refusals of a claim.
var kinds = []struct {
	err     error
	status  int
	outcome string // for metrics
}{
	{fence.ErrDuplicate, http.StatusInternalServerError, outcomeDuplicate}, // the status of one that is not definite
	{kv.ErrNotFound, http.StatusNotFound, outcomeNotFound},
	{access.ErrUnauthenticated, http.StatusUnauthorized, outcomeDenied},
	{access.ErrForbidden, http.StatusForbidden, outcomeDenied},
	{kv.ErrDisk, http.StatusInsufficientStorage, outcomeError},
	{fence.ErrNoBound, http.StatusServiceUnavailable, outcomeError},
	{kv.ErrClosed, http.StatusServiceUnavailable, outcomeError},
	{kv.ErrUnavailable, http.StatusServiceUnavailable, outcomeError},
}

// kindOf is the status, and the outcome for metrics, of an error that is no refusal of a claim.
func kindOf(err error) (status int, outcome string) {
	if page, ok := errors.AsType[*webpage.Error](err); ok {
		return page.Status, outcomeDenied
	}
	if over, ok := errors.AsType[*kv.LimitError](err); ok {
		return limitStatus[over.Limit], outcomeLimited
	}
	if he, ok := errors.AsType[*httpError](err); ok {
		return he.status, outcomeError
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status, k.outcome
		}
	}
	return http.StatusInternalServerError, outcomeError
}

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

// setHeaders says in headers what a client must know that does not read the document, or gets none.
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
		h.Set("Retry-After", "1") // second: what others take up may be free then
	}
}

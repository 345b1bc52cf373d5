package fencehttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Reason says why a claim was refused, in one word.
type Reason string

// The reasons; see docs/protocol.md.
const (
	ReasonStale   Reason = "stale"   // 412
	ReasonMissing Reason = "missing" // 428
	ReasonInvalid Reason = "invalid" // 400
	ReasonAhead   Reason = "ahead"   // 422
)

// ProblemType begins the type URI of each problem; what follows is its reason.
const ProblemType = "https://github.com/fencelab/fencelab/blob/main/docs/protocol.md#"

// ContentType of a problem document.
const ContentType = "application/problem+json"

// Problem is an RFC 9457 problem document. The numbers go as decimal strings:
// many JSON readers turn a number into a float, which cannot tell neighbours
// above 2^53 apart.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	Reason       Reason      `json:"reason,omitempty"`
	Field        string      `json:"field,omitempty"` // of an invalid claim: "token", "sequence", "mode" or "scope"
	Scope        string      `json:"scope,omitempty"`
	Token        fence.Token `json:"token,omitempty,string"`
	Mark         fence.Token `json:"mark,omitempty,string"`
	Bound        fence.Token `json:"bound,omitempty,string"`
	Sequence     int64       `json:"sequence,omitempty,string"`
	MarkSequence int64       `json:"mark_sequence,omitempty,string"`
	MarkMode     fence.Mode  `json:"mark_mode,omitempty"`
}

// The fields of a claim; see Problem.Field.
const (
	fieldToken    = "token"
	fieldSequence = "sequence"
	fieldMode     = "mode"
	fieldScope    = "scope"
)

// ReasonOf says which refusal err is; empty where it is none.
func ReasonOf(err error) Reason {
	switch {
	case errors.Is(err, fence.ErrStale):
		return ReasonStale
	case errors.Is(err, fence.ErrNoToken):
		return ReasonMissing
	case errors.Is(err, fence.ErrAhead):
		return ReasonAhead
	case errors.Is(err, fence.ErrInvalidToken), errors.Is(err, fence.ErrInvalidSequence), errors.Is(err, fence.ErrInvalidMode),
		errors.Is(err, fence.ErrInvalidScope):
		return ReasonInvalid
	}
	return ""
}

// NewProblem turns a refusal into the document that tells the client of it. For
// an error that is no refusal ok is false.
func NewProblem(err error) (p Problem, ok bool) {
	switch ReasonOf(err) {
	case ReasonStale:
		p = Problem{Status: http.StatusPreconditionFailed, Reason: ReasonStale, Title: "The token is stale"}
		var stale *fence.StaleError
		if errors.As(err, &stale) {
			p.Scope, p.Token, p.Mark = stale.Scope, stale.Token, stale.Mark
			p.Sequence, p.MarkSequence, p.MarkMode = stale.Sequence, stale.MarkSequence, stale.MarkMode
		}
	case ReasonMissing:
		p = Problem{Status: http.StatusPreconditionRequired, Reason: ReasonMissing, Title: "The fencing token is missing"}
	case ReasonInvalid:
		p = Problem{Status: http.StatusBadRequest, Reason: ReasonInvalid, Title: "The fencing claim is invalid", Field: fieldToken}
		switch {
		case errors.Is(err, fence.ErrInvalidSequence):
			p.Field = fieldSequence
		case errors.Is(err, fence.ErrInvalidMode):
			p.Field = fieldMode
		case errors.Is(err, fence.ErrInvalidScope):
			p.Field = fieldScope
		}
	case ReasonAhead:
		p = Problem{Status: http.StatusUnprocessableEntity, Reason: ReasonAhead, Title: "No such token has been issued"}
		var ahead *fence.AheadError
		if errors.As(err, &ahead) {
			p.Scope, p.Token, p.Bound = ahead.Scope, ahead.Token, ahead.Bound
		}
	default:
		return Problem{}, false
	}
	p.Type = ProblemType + string(p.Reason)
	p.Detail = err.Error()
	return p, true
}

// Err is the refusal that NewProblem was made of, nil where p tells of none.
func (p Problem) Err() error {
	if p.Type != ProblemType+string(p.Reason) {
		return nil
	}
	switch p.Reason {
	case ReasonStale:
		return &fence.StaleError{
			Scope: p.Scope, Token: p.Token, Mark: p.Mark, MarkMode: p.MarkMode, Sequence: p.Sequence, MarkSequence: p.MarkSequence,
		}
	case ReasonAhead:
		return &fence.AheadError{Scope: p.Scope, Token: p.Token, Bound: p.Bound}
	case ReasonMissing:
		return p.refusal(fence.ErrNoToken)
	case ReasonInvalid:
		switch p.Field {
		case fieldSequence:
			return p.refusal(fence.ErrInvalidSequence)
		case fieldMode:
			return p.refusal(fence.ErrInvalidMode)
		case fieldScope:
			return p.refusal(fence.ErrInvalidScope)
		}
		return p.refusal(fence.ErrInvalidToken)
	}
	return nil
}

func (p Problem) refusal(err error) error {
	return &refusal{err, cmp.Or(p.Detail, err.Error())}
}

// refusal has the server's words and the meaning of a sentinel.
type refusal struct {
	err  error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.err }

// Write sends the document, and the headers of a refusal with it.
func (p Problem) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", ContentType)
	if p.Reason != "" {
		h.Set(HeaderRefused, string(p.Reason))
	}
	if p.Field != "" {
		h.Set(HeaderField, p.Field)
	}
	setToken(h, HeaderToken, p.Token)
	setToken(h, HeaderMark, p.Mark)
	setToken(h, HeaderBound, p.Bound)
	if p.MarkMode != fence.Exclusive {
		h.Set(HeaderMode, p.MarkMode.String())
	}
	w.WriteHeader(p.Status)
	// An error here means that the client is gone.
	_ = json.NewEncoder(w).Encode(p)
}

func setToken(h http.Header, header string, t fence.Token) {
	if t != 0 {
		h.Set(header, t.String())
	}
}

// headerProblem is what the headers of an answer tell of the refusal of req.
func headerProblem(req *http.Request, h http.Header) Problem {
	token := func(header string) fence.Token {
		t, _ := fence.ParseToken(h.Get(header)) // 0 where it is missing
		return t
	}
	mode, _ := fence.ParseMode(h.Get(HeaderMode)) // Exclusive where it is missing
	reason := h.Get(HeaderRefused)
	return Problem{
		Type:     ProblemType + reason,
		Reason:   Reason(reason),
		Field:    h.Get(HeaderField),
		Scope:    req.Header.Get(HeaderScope),
		Token:    token(HeaderToken),
		Mark:     token(HeaderMark),
		MarkMode: mode,
		Bound:    token(HeaderBound),
	}
}

package laws

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// view is a part of a storage that looks empty: its scopes and keys have a prefix that is new.
type view struct {
	client *client
	base   string // URL of the storage
	prefix string
}

// store is what a law asks, and what opens it once more at another URL.
type store interface {
	fencetest.Store
	at(base string) store
}

// v1 is a view by the protocol of docs/protocol.md.
type v1 struct{ view }

func (s v1) at(base string) store { s.base = base; return s }

// name is what a scope or a key is called in the storage.
func (v view) name(s string) string { return program.Prefixed(v.prefix, s) }

func (v view) path(key string) string { return program.PathKV + url.PathEscape(v.name(key)) }

func (v view) header(c fence.Claim) []string {
	h := make(http.Header)
	fencehttp.SetClaim(h, c)
	var lines []string
	if c.Scope != "" {
		lines = append(lines, fencehttp.HeaderScope+": "+v.name(c.Scope))
	}
	for _, name := range []string{fencehttp.HeaderToken, fencehttp.HeaderSequence, fencehttp.HeaderMode} {
		if value := h.Get(name); value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

func (s v1) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.do(ctx, http.MethodPut, c, key, value)
	return err
}

func (s v1) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.do(ctx, http.MethodDelete, c, key, "")
	return err
}

func (s v1) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	a, err := s.do(ctx, http.MethodGet, c, key, "")
	if err != nil || !a.OK() {
		return "", false, err
	}
	return a.Body, true, nil
}

// do makes a request of a key. 404 answers a read of what is not there, and is a success of a delete.
func (s v1) do(ctx context.Context, method string, c fence.Claim, key, body string) (program.Answer, error) {
	if err := sendable(ctx, c); err != nil {
		return program.Answer{}, err
	}
	e := Exchange{Method: method, Path: s.path(key), Header: s.header(c), Body: body}
	a, err := s.client.ask(ctx, s.base, e)
	if err != nil || a.Status == http.StatusNotFound && method != http.MethodPut {
		return a, err
	}
	return a, s.outcome(e, c, a)
}

// sendable is why a request is not sent: nobody waits for it, or its scope would come to the
// storage as another one.
func sendable(ctx context.Context, c fence.Claim) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: a request whose context is done is not sent", fencetest.ErrNotApplicable)
	}
	if textproto.TrimString(c.Scope) != c.Scope {
		return fmt.Errorf("%w: %q cannot be sent: a header has no white space around it", fence.ErrInvalidScope, c.Scope)
	}
	return nil
}

// outcome is what an answer means, to a read where the method is GET, else to a change.
func (v view) outcome(e Exchange, c fence.Claim, a program.Answer) error {
	switch {
	case a.OK():
		return nil
	case a.Refused() && c.Token == 0 && e.Method != http.MethodGet:
		return fmt.Errorf("%w: %v", fence.ErrNoToken, a)
	case a.Refused() && c.Token < 0:
		return fmt.Errorf("%w: %v", fence.ErrInvalidToken, a)
	case a.Refused() && c.Mode > fence.Shared:
		return fmt.Errorf("%w: %v", fence.ErrInvalidMode, a)
	case a.Refused() && (c.Sequence < 0 || c.Mode == fence.Shared && c.Sequence != 0):
		return fmt.Errorf("%w: %v", fence.ErrInvalidSequence, a)
	case a.Status == http.StatusPreconditionFailed && c.Token != 0:
		return v.stale(c, a)
	case a.Status >= 500:
		return &UnansweredError{Storage: v.base, Asked: e.asked(), Did: fmt.Sprintf("answered %v, which leaves open what became of the request", a)}
	}
	return fmt.Errorf("the storage answered %v", a)
}

// stale is the refusal that an answer tells of, with the mark where the answer names it.
func (v view) stale(c fence.Claim, a program.Answer) error {
	stale := a.Stale()
	if stale == nil {
		return fmt.Errorf("%w: %v", fence.ErrStale, a)
	}
	if stale.Scope == v.name(c.Scope) {
		stale.Scope = c.Scope
	}
	return stale
}

// contrib is a view by contrib/lock's POST /. A key is its own scope, there is no delete, reads have no token.
type contrib struct{ view }

func (s contrib) at(base string) store { s.base = base; return s }

// cannot is what a law is told that asks for what the protocol does not have.
func cannot(what string) error {
	return fmt.Errorf("%w: contrib/lock's protocol has no %s", fencetest.ErrNotApplicable, what)
}

func (s contrib) Write(ctx context.Context, c fence.Claim, key, value string) error {
	switch {
	case ctx.Err() != nil:
		return sendable(ctx, c)
	case c.Scope != key:
		return cannot("scope but the key")
	case c.Sequence != 0:
		return cannot("sequence numbers")
	case c.Mode != fence.Exclusive:
		return cannot("shared claims")
	}
	a, said, err := s.post(ctx, program.ContribRequest{Op: "write", Key: s.name(key), Val: value, Version: c.Token})
	switch {
	case err != nil:
		return err
	case a.OK() && *said.Err == "":
		return nil
	case c.Token <= 0:
		return s.outcome(Exchange{Method: http.MethodPost, Path: "/"}, c, program.Answer{Status: http.StatusBadRequest, Body: a.Body})
	case a.OK() && said.Stale():
		return fmt.Errorf("%w: %s", fence.ErrStale, *said.Err)
	}
	return fmt.Errorf("the storage answered %v", a)
}

func (s contrib) Delete(context.Context, fence.Claim, string) error { return cannot("delete") }

func (s contrib) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	if c.Token != 0 {
		return "", false, cannot("token in a read")
	}
	a, said, err := s.post(ctx, program.ContribRequest{Op: "read", Key: s.name(key)})
	if err != nil {
		return "", false, err
	}
	if !a.OK() {
		return "", false, fmt.Errorf("the storage answered %v", a)
	}
	return said.Val, said.Val != "", nil
}

// post returns an answer that has the form of the protocol.
func (s contrib) post(ctx context.Context, r program.ContribRequest) (a program.Answer, said program.ContribAnswer, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return a, said, err
	}
	e := Exchange{Method: http.MethodPost, Path: "/", Header: []string{"Content-Type: application/json"}, Body: string(body)}
	if a, err = s.client.ask(ctx, s.base, e); err != nil {
		return a, said, err
	}
	if said, err = program.ParseContrib(a); err != nil {
		did := fmt.Sprintf("answered %v, want JSON with val, version and err", a)
		err = &UnansweredError{Storage: s.base, Asked: "POST / " + e.Body, Did: did, Err: err}
	}
	return a, said, err
}

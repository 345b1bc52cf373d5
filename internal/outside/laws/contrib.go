package laws

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// contrib is a view by the protocol of etcd's contrib/lock: POST / with JSON. A key is its
// own scope there, nothing is deleted, and a read has no token.
type contrib struct{ view }

func (s contrib) at(base string) store { s.base = base; return s }

// cannot is what a law is told that asks for what the protocol does not have.
func cannot(what string) error {
	return fmt.Errorf("%w: contrib/lock's protocol has no %s", fencetest.ErrNotApplicable, what)
}

func (s contrib) Write(ctx context.Context, c fence.Claim, key, value string) error {
	switch {
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

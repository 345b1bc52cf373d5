package clientcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// request is what can be asked of the storage; and an unlock, which is asked of
// etcd. It may be asked more than once: it says the same each time, but for the
// ID.
type request struct {
	ask   history.Event // without Kind and Request
	claim fence.Claim
	first string  // ID of its first attempt; "": there was none yet
	whole *change // that it is a part of; nil: it is none
	do    func(ctx context.Context, storage *kvhttp.Client, req kv.Request, outcome *history.Event) error
}

// change is one of several keys that is made one key after the other.
type change struct {
	first string // ID of its first write; "": that was not sent yet
}

// name has ask, an attempt at r, say by which ID it is known, and with which others
// it belongs together.
func (r *request) name(ask *history.Event, id string) {
	ask.Request, ask.RetryOf = id, r.first
	r.first = cmp.Or(r.first, id)
	if r.whole != nil {
		r.whole.first = cmp.Or(r.whole.first, id)
		ask.PartOf = r.whole.first
	}
}

// start reports that r is asked, and returns the rest: to ask it, and to report
// what became of it.
func (a *agent) start(r *request) (rest func(context.Context, *kvhttp.Client) history.Event) {
	ask, req := r.ask, kv.Request{Claim: r.claim}
	if ask.Op != history.OpUnlock {
		req.ID = fmt.Sprintf("%s-%d", a.name, a.asked.Add(1))
		r.name(&ask, req.ID)
	}
	ask = a.invoke(ask)
	return func(ctx context.Context, storage *kvhttp.Client) history.Event {
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		answer := ask
		answer.RetryOf, answer.PartOf = "", "" // as the question says
		err := r.do(ctx, storage, req, &answer)
		answer = outcome(answer, err)
		a.mu.Lock()
		defer a.mu.Unlock()
		if answer.Kind == history.KindUnknown && answer.Op != history.OpRead {
			a.unknown = r
		}
		a.print(answer)
		return answer
	}
}

// perform asks requests one after the other, until one does not succeed. It
// returns the last outcome.
func (a *agent) perform(ctx context.Context, requests ...*request) (outcome history.Event) {
	for _, r := range requests {
		if outcome = a.start(r)(ctx, a.store); outcome.Kind != history.KindOK {
			break
		}
	}
	return outcome
}

// newRequest shows the token of the last grant. Without a grant there is none,
// and where that matters the storage refuses.
func (a *agent) newRequest(op, key, value string) *request {
	r := &request{ask: a.about()}
	if a.held == nil && a.token.value == tokenMax {
		r.ask.Token = maxToken
	}
	if a.scope.value == scopeKey {
		r.ask.Scope = key
	}
	if op == history.OpRead && a.reads.value == readsPlain {
		r.ask.Token = 0
	}
	if op != history.OpRead && a.numbered && r.ask.Token != 0 {
		a.sequence++
		r.ask.Sequence = a.sequence
	}
	r.ask.Op, r.ask.Key, r.ask.Value = op, key, value
	r.claim = fence.Claim{Scope: r.ask.Scope, Token: r.ask.Token, Sequence: r.ask.Sequence}
	return r
}

func (a *agent) newRead(key string) *request {
	r := a.newRequest(history.OpRead, key, "")
	r.do = func(ctx context.Context, storage *kvhttp.Client, req kv.Request, outcome *history.Event) error {
		item, err := storage.Read(ctx, req, key)
		if errors.Is(err, kv.ErrNotFound) {
			outcome.Missing = true
			return nil
		}
		outcome.Value = item.Value
		return err
	}
	return r
}

func (a *agent) newWrite(key, value string) *request {
	r := a.newRequest(history.OpWrite, key, value)
	r.do = func(ctx context.Context, storage *kvhttp.Client, req kv.Request, _ *history.Event) error {
		_, err := storage.Write(ctx, req, key, value)
		return err
	}
	return r
}

func (a *agent) newDelete(key string) *request {
	r := a.newRequest(history.OpDelete, key, "")
	r.do = func(ctx context.Context, storage *kvhttp.Client, req kv.Request, _ *history.Event) error {
		_, err := storage.Delete(ctx, req, key)
		return err
	}
	return r
}

// newChange is of all keys at once. Where the scope is a key it is the first.
func (a *agent) newChange(changes []history.Change) *request {
	r := a.newRequest(history.OpChange, changes[0].Key, "")
	r.ask.Key, r.ask.Changes = "", changes
	ops := make([]kv.Op, len(changes))
	for i, c := range changes {
		ops[i] = kv.Op{Kind: kv.OpWrite, Key: c.Key, Value: c.Value}
	}
	r.do = func(ctx context.Context, storage *kvhttp.Client, req kv.Request, _ *history.Event) error {
		_, err := storage.Batch(ctx, req, ops...)
		return err
	}
	return r
}

func checkKey(op, key string) error {
	if key == "" || strings.TrimSpace(key) != key {
		return fmt.Errorf("%s: the key is %q, want one that neither is empty nor begins or ends with a space", op, key)
	}
	return nil
}

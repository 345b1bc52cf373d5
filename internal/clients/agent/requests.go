package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// request is what can be asked of the storage, or an unlock, which is asked of the lock service. Each attempt
// says the same, but for the ID.
type request struct {
	lock  string        // under which it is
	ask   history.Event // without Kind and Request
	held  *held         // of an unlock; else the grant under which it is, nil: none
	first string        // ID of its first attempt; "": there was none yet
	whole *string       // ID of the first write of the change that it is a part of; nil: it is none
}

// name has ask, an attempt at r, say by which ID it is known, and with which others it belongs together.
func (r *request) name(ask *history.Event, id string) {
	ask.Request, ask.RetryOf = id, r.first
	r.first = cmp.Or(r.first, id)
	if r.whole != nil {
		*r.whole = cmp.Or(*r.whole, id)
		ask.PartOf = *r.whole
	}
}

// do asks for what answer says, and adds to it what a read finds.
func (r *request) do(ctx context.Context, storage service.Data, answer *history.Event) error {
	if answer.Op == history.OpUnlock {
		return r.held.Unlock(ctx)
	}
	return storage.Do(ctx, answer)
}

// start reports that r is asked, and returns the rest: to ask it, and to report what became of it.
func (a *agent) start(ctx context.Context, r *request) (rest func(context.Context, service.Data) history.Event) {
	if err := a.readToken(ctx, r); err != nil {
		notSent := a.conclude(a.invoke(r.ask), fence.Definite.Wrap(err))
		return func(context.Context, service.Data) history.Event { return notSent }
	}
	if r.ask.Op == history.OpUnlock {
		a.letGo(r.held)
	}
	ask := a.ask(r)
	return func(ctx context.Context, storage service.Data) history.Event {
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		answer := ask
		answer.RetryOf, answer.PartOf = "", "" // as the question says
		err := r.do(ctx, storage, &answer)
		answer = outcome(answer, err)
		_, within := storage.(inside)
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case answer.Op == history.OpUnlock:
			a.settle(r.held, answer.Kind)
		case within:
			return a.pend(r.held, answer)
		}
		if answer.Kind == history.KindUnknown && answer.Op != history.OpRead {
			a.unknown = r
		}
		a.print(answer)
		return answer
	}
}

// readToken has the first attempt of r show the token that the lock service has now, for --token read-again.
func (a *agent) readToken(ctx context.Context, r *request) (err error) {
	reader, can := a.Locks.(service.TokenReader)
	again := can && a.Settings[setting.Token] == setting.TokenReadAgain
	if !again || r.ask.Op == history.OpUnlock || r.ask.Token == 0 || r.first != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if r.ask.Token, err = reader.ReadToken(ctx, r.lock); err != nil {
		return err
	}
	a.note(r.lock, "", fmt.Sprintf("%s reads the token of %s again: %d", a.Name, r.lock, r.ask.Token))
	return nil
}

// ask reports that r is asked. IDs are reported in the order of their numbers.
func (a *agent) ask(r *request) history.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	ask := r.ask
	ask.Kind = history.KindInvoke
	if ask.Op != history.OpUnlock {
		a.asked++
		r.name(&ask, fmt.Sprintf("%s-%d", a.Name, a.asked))
	}
	a.print(ask)
	return ask
}

// perform asks requests one after the other, until one does not succeed. It returns the last outcome.
func (a *agent) perform(ctx context.Context, requests ...*request) (outcome history.Event) {
	for _, r := range requests {
		if outcome = a.start(ctx, r)(ctx, a.storage(r)); outcome.Kind != history.KindOK {
			break
		}
	}
	return outcome
}

// newRequest shows the token of the lock's last grant. Without one there is none, which the storage judges.
func (a *agent) newRequest(op, lock, key, value string) *request {
	r := &request{lock: lock, ask: a.about(lock), held: a.find(lock)}
	if r.held == nil && a.Settings[setting.Token] == setting.TokenMax {
		r.ask.Token = service.MaxToken
	}
	if a.Settings.Text(setting.Scope) == setting.ScopeKey {
		r.ask.Scope = key
	}
	if op == history.OpRead && a.Settings.Text(setting.Reads) == setting.ReadsPlain {
		r.ask.Token = 0
	}
	if r.ask.Token != 0 {
		r.ask.Mode = a.modeOf(lock)
	}
	if op != history.OpRead && a.Settings.Flag(setting.Numbered) && r.ask.Token != 0 {
		a.sequences[lock]++
		r.ask.Sequence = a.sequences[lock]
	}
	r.ask.Op, r.ask.Key, r.ask.Value = op, key, value
	return r
}

// modeOf is what a claim says of how the agent holds the lock.
func (a *agent) modeOf(lock string) fence.Mode {
	h := a.find(lock)
	if h == nil || a.Settings[setting.Claims] == setting.ClaimsExclusive {
		return fence.Exclusive
	}
	return h.Grant().Mode
}

func checkKey(op, key string) error {
	if key == "" || strings.TrimSpace(key) != key {
		return fmt.Errorf("%s: the key is %q, want one that neither is empty nor begins or ends with a space", op, key)
	}
	return nil
}

// storage is where a request goes: to the lock service, if the data lies there.
func (a *agent) storage(r *request) service.Data {
	if a.Storage != nil {
		return overHTTP{a.Storage}
	}
	var under service.Tenure
	if r.held != nil {
		under = r.held.Tenure
	}
	data, within := a.Locks.(service.Store).Under(under)
	if within {
		return inside{data}
	}
	return data
}

// inside is data whose requests are done with the unlock, or not at all.
type inside struct{ service.Data }

// overHTTP is the storage that is a server of its own.
type overHTTP struct{ *kvhttp.Client }

func (s overHTTP) Do(ctx context.Context, ask *history.Event) (err error) {
	req := kv.Request{ID: ask.Request, Claim: fence.Claim{Scope: ask.Scope, Token: ask.Token, Sequence: ask.Sequence, Mode: ask.Mode}}
	switch ask.Op {
	case history.OpRead:
		var item kv.Item
		item, err = s.Read(ctx, req, ask.Key)
		ask.Value = item.Value
		if errors.Is(err, kv.ErrNotFound) {
			ask.Missing, err = true, nil
		}
	case history.OpWrite:
		_, err = s.Write(ctx, req, ask.Key, ask.Value)
	case history.OpDelete:
		_, err = s.Delete(ctx, req, ask.Key)
	case history.OpChange:
		var ops []kv.Op
		for _, c := range ask.Changes {
			ops = append(ops, kv.Op{Kind: kv.OpWrite, Key: c.Key, Value: c.Value})
		}
		_, err = s.Batch(ctx, req, ops...)
	}
	return err
}

// pend takes in what came of a request in the transaction that has the lock. It is done with the commit, by the
// unlock: until then the agent notes it. The caller holds a.mu.
func (a *agent) pend(h *held, answer history.Event) history.Event {
	h.transaction = true
	if answer.Kind != history.KindOK {
		a.print(answer)
		answer.Reason = history.ReasonLost // the transaction is over, and what it did is undone
		return answer
	}
	h.pending = append(h.pending, answer)
	note := answer
	note.Kind = history.KindNote
	note.Text = fmt.Sprintf("in %s's transaction, not committed yet: %s%s", a.Name, describe(answer), found(answer))
	a.print(note)
	if h.told {
		a.settle(h, history.KindFail)
	}
	return answer
}

// settle reports what became of the requests in a transaction that has ended. The caller holds a.mu.
func (a *agent) settle(h *held, end history.Kind) {
	for _, e := range h.pending {
		if e.Kind = end; end != history.KindOK {
			e.Text = "its transaction has ended, and was not committed"
		}
		if end == history.KindUnknown {
			e.Text = "whether its transaction was committed is not known"
		}
		if end != history.KindOK && e.Op == history.OpRead {
			e.Value, e.Missing = "", false
		}
		a.print(e)
	}
	h.pending = nil
}

// Reader takes in what a client says, line by line, and refuses what no client says: a client
// need not be an agent of this package. The zero value refuses everything.
type Reader struct {
	Client string    // which speaks for itself alone
	Began  time.Time // when the client was started: it speaks of no earlier time

	greeted bool
	said    history.Said
}

// Event is the event in a line. Its At is the time since 1970.
func (r *Reader) Event(line []byte) (e history.Event, err error) {
	if err := r.said.Line(line); err != nil {
		return e, err
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	switch {
	case e.Lane != r.Client:
		return e, fmt.Errorf("its lane is %q, want %q: a client tells of itself alone", e.Lane, r.Client)
	case !slices.Contains(history.ClientKinds, e.Kind):
		return e, fmt.Errorf("its kind is %q: a client tells of %v", e.Kind, history.ClientKinds)
	case e.Client != r.Client:
		return e, fmt.Errorf("its client is %q, want %q: a client tells of itself alone", e.Client, r.Client)
	}
	if err := r.said.Time(e.At, r.Began); err != nil {
		return e, err
	}
	if !r.greeted {
		r.greeted = true
		return e, greeting(e)
	}
	return e, nil
}

// greeting refuses a first event that does not say the protocol's version.
func greeting(e history.Event) error {
	switch {
	case e.Kind != history.KindNote || e.Key != "protocol":
		return errors.New(`its first event is not that by which a client says that it is ready: want the kind "note" and the key "protocol"`)
	case e.Value != Protocol:
		return fmt.Errorf("its version of the protocol is %q, and this gcsim speaks %q", e.Value, Protocol)
	}
	return nil
}

// Args are what a client is told at its start.
type Args struct {
	Name           string // of the client
	Service        string
	Endpoints      []string
	Lock           string // that it takes where a command names none
	Storage        string // URL; "": the data lies in the lock service
	SendStorage    string // URL for what it sends and does not wait for
	ConnectTimeout time.Duration
	AskedBefore    int
	Words          bool
	Known          []setting.Setting // in the order in which it is told them
	Settings       setting.Values    // their values
}

// List is the arguments, as docs/agent.md has them.
func (a Args) List() []string {
	list := []string{
		"--name", a.Name, "--service", a.Service, "--endpoints", strings.Join(a.Endpoints, ","), "--lock", a.Lock,
		"--connect-timeout", a.ConnectTimeout.String(), "--asked-before", strconv.Itoa(a.AskedBefore),
	}
	if a.Storage == "" {
		list = append(list, "--in-service")
	} else {
		list = append(list, "--storage", a.Storage, "--send-storage", a.SendStorage)
	}
	if a.Words {
		list = append(list, "--words")
	}
	for _, s := range a.Known {
		list = append(list, "--"+s.Name+"="+a.Settings.Text(s.Name))
	}
	return list
}

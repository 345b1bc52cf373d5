package report

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// tenures is the lock service's account: who held which lock, one after the
// other. The picture shows it apart from the tokens, which are what is judged.
type tenures struct {
	list    []*tenure
	granted int                // how many of them
	acted   map[string]*tenure // by scope: the latest tenure that read or wrote
	values  map[string]written // by key: what the storage holds
}

type tenure struct {
	n                 int // place in the account, from 1; 0: it waits in the queue
	client, id, scope string
	token             string
	over              bool
	workers           []string // clients that sent requests under it
}

type written struct {
	deleted bool
	value   string
	by      *tenure
	client  string
	request string
	sent    time.Duration
	acked   bool // its client was told that it succeeded
}

// queue records that a tenure will come.
func (t *tenures) queue(e history.Event) *tenure {
	g := &tenure{client: e.Client, id: e.Tenure, scope: e.Scope, token: decimal(e)}
	t.list = append(t.list, g)
	return g
}

func (t *tenures) grant(e history.Event) *tenure {
	var g *tenure
	for _, q := range t.list {
		if q.n == 0 && q.id == e.Tenure && q.client == e.Client {
			g = q
		}
	}
	if g == nil {
		g = t.queue(e)
	}
	t.granted++
	g.n, g.token = t.granted, decimal(e)
	return g
}

// end finds the tenure that e ends; nil where its grant was not seen.
func (t *tenures) end(e history.Event) *tenure {
	for _, g := range slices.Backward(t.list) {
		if !g.over && g.client == e.Client && (e.Tenure == "" || g.id == e.Tenure) && (e.Scope == "" || g.scope == e.Scope) {
			g.over = true
			return g
		}
	}
	return nil
}

// shared finds the running tenure of another client that e names as its own.
func (t *tenures) shared(e history.Event) *tenure {
	for _, g := range slices.Backward(t.list) {
		if e.Tenure != "" && g.id == e.Tenure && !g.over && g.client != e.Lane {
			return g
		}
	}
	return nil
}

// of finds the tenure that a request belongs to: by what it names of the grant
// or, where that names none (a client may send another number than its token),
// the latest tenure of the client.
func (t *tenures) of(e history.Event) *tenure {
	matches := []func(*tenure) bool{
		func(g *tenure) bool { return e.Tenure != "" && g.id == e.Tenure && g.token == decimal(e) },
		func(g *tenure) bool { return e.Tenure != "" && g.id == e.Tenure },
		func(g *tenure) bool { return g.n > 0 && g.client == e.Client && g.token != "" && g.token == decimal(e) },
		func(g *tenure) bool { return g.n > 0 && g.client == e.Client },
	}
	for _, match := range matches {
		for _, g := range slices.Backward(t.list) {
			if match(g) {
				return g
			}
		}
	}
	return nil
}

// held reports whether a client ever held a lock.
func (t *tenures) held(client string) bool {
	return slices.ContainsFunc(t.list, func(g *tenure) bool { return g.n > 0 && g.client == client })
}

// harm is what a write did that should not have been done; the zero value: none.
type harm struct {
	destroyed written // of a later tenure, or later by the same client
	later     *tenure // that had been there before it
	fellow    string  // client that works under the same tenure
}

// apply records what the storage did, and says whether that is harm: a write
// after a later tenure's read or write, under a tenure in which two clients
// work, or over one that its client sent later and was told to be done.
func (t *tenures) apply(e history.Event, sent time.Duration) (h harm) {
	if t.acted == nil {
		t.acted, t.values = map[string]*tenure{}, map[string]written{}
	}
	by, changes := t.of(e), e.Op == history.OpWrite || e.Op == history.OpDelete
	if by != nil {
		if last := t.acted[by.scope]; last == nil || last.n <= by.n {
			t.acted[by.scope] = by
		} else if changes {
			h.later = last
		}
		h.fellow = by.work(e.Client, changes)
	}
	if !changes {
		return h
	}
	old := t.values[e.Key]
	switch {
	case old.by == nil:
	case h.later != nil && old.by.n > by.n, old.by == by && old.client == e.Client && old.acked && old.sent > sent:
		h.destroyed = old
	}
	t.values[e.Key] = written{deleted: e.Op == history.OpDelete, value: e.Value, by: by, client: e.Client, request: e.Request, sent: sent}
	return h
}

// work notes that a client works under g and, where it changes something, names
// another one that does.
func (g *tenure) work(client string, changes bool) (fellow string) {
	if !slices.Contains(g.workers, client) {
		g.workers = append(g.workers, client)
	}
	for _, w := range g.workers {
		if w != client && w != "" && client != "" && changes {
			fellow = w
		}
	}
	return fellow
}

// acknowledge records that a client was told that its request is done.
func (t *tenures) acknowledge(request string) {
	for key, w := range t.values {
		if request != "" && w.request == request {
			w.acked = true
			t.values[key] = w
		}
	}
}

func decimal(e history.Event) string {
	if e.Token == 0 {
		return ""
	}
	return e.Token.String()
}

package report

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// tenures is the lock service's account: who held which lock, one after the
// other. The picture shows it apart from the tokens, which are what is judged.
type tenures struct {
	list   []*tenure
	acted  map[string]*tenure // by scope: the latest tenure that read or wrote
	values map[string]written // by key: what the storage holds
}

type tenure struct {
	n                 int // place in the account, from 1
	client, id, scope string
	token             string
	over              bool
}

type written struct {
	deleted bool
	value   string
	by      *tenure
}

func (t *tenures) grant(e history.Event) *tenure {
	g := &tenure{n: len(t.list) + 1, client: e.Client, id: e.Tenure, scope: e.Scope, token: decimal(e)}
	t.list = append(t.list, g)
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

// of finds the tenure that a request belongs to: by what it names of the grant
// or, where that names none (a client may send another number than its token),
// the latest tenure of the client.
func (t *tenures) of(e history.Event) *tenure {
	matches := []func(*tenure) bool{
		func(g *tenure) bool { return e.Tenure != "" && g.id == e.Tenure && g.token == decimal(e) },
		func(g *tenure) bool { return e.Tenure != "" && g.id == e.Tenure },
		func(g *tenure) bool { return g.client == e.Client && g.token != "" && g.token == decimal(e) },
		func(g *tenure) bool { return g.client == e.Client },
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

// apply records what the storage did and returns the tenure that e overtook and
// what it destroyed: set only where e is a write of an earlier tenure after a
// later one's read or write.
func (t *tenures) apply(e history.Event) (later *tenure, destroyed written) {
	if t.acted == nil {
		t.acted, t.values = map[string]*tenure{}, map[string]written{}
	}
	by, changes := t.of(e), e.Op == history.OpWrite || e.Op == history.OpDelete
	if by != nil {
		if last := t.acted[by.scope]; last == nil || last.n <= by.n {
			t.acted[by.scope] = by
		} else if changes {
			later = last
		}
	}
	if changes {
		if old := t.values[e.Key]; later != nil && old.by != nil && old.by.n > by.n {
			destroyed = old
		}
		t.values[e.Key] = written{e.Op == history.OpDelete, e.Value, by}
	}
	return later, destroyed
}

func decimal(e history.Event) string {
	if e.Token == 0 {
		return ""
	}
	return e.Token.String()
}

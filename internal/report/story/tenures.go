package story

import "github.com/fencelab/fencelab/internal/history"

// tenures is the lock service's account: who held which lock, one after the
// other. The picture shows it apart from the tokens, which are what is judged.
type tenures struct {
	granted int                // how many so far
	byID    map[string]*tenure // those that were granted, or queued for
	holders map[string]bool    // clients that ever held a lock
}

type tenure struct {
	n          int // place in the account, from 1; 0: it waits in the queue
	client, id string
	token      string
	over       bool
}

func newTenures() tenures {
	return tenures{byID: make(map[string]*tenure), holders: make(map[string]bool)}
}

// queue records that a tenure will come.
func (t *tenures) queue(e history.Event) *tenure {
	g := &tenure{client: e.Client, id: e.Tenure, token: decimal(e)}
	t.byID[e.Tenure] = g
	return g
}

func (t *tenures) grant(e history.Event) *tenure {
	g := t.byID[e.Tenure]
	if g == nil || g.n > 0 {
		g = t.queue(e)
	}
	t.granted++
	t.holders[e.Client] = true
	g.n, g.token = t.granted, decimal(e)
	return g
}

// end finds the tenure that e ends; nil where its grant was not seen.
func (t *tenures) end(e history.Event) *tenure {
	g := t.byID[e.Tenure]
	if g == nil || g.over {
		return nil
	}
	g.over = true
	return g
}

// shared finds the running tenure of another client that e names as its own.
func (t *tenures) shared(e history.Event) *tenure {
	if g := t.byID[e.Tenure]; e.Tenure != "" && g != nil && !g.over && g.client != e.Lane {
		return g
	}
	return nil
}

func decimal(e history.Event) string {
	if e.Token == 0 {
		return ""
	}
	return e.Token.String()
}

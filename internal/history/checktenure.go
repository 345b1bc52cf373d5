package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"

	"github.com/fencelab/fencelab/pkg/fence"
)

// tenure holds the clients' word of tenures against the lock service's.
func (c *checker) tenure(e Event) {
	a := c.tenures[e.Tenure]
	switch {
	case e.Kind == KindGranted && a.granted != 0:
		c.contradicts(a.granted, ProblemTenure, "%s is granted a second time", e.Tenure)
	case e.Kind == KindGranted || e.Kind == KindQueued:
		c.begins(e, a)
	case e.Kind == KindEnded && a == nil:
		c.wrong(ProblemTenure, "%s ends, and is not granted", e.Tenure)
	case e.Kind == KindEnded:
		c.ended(e, a)
	case e.Kind == KindOK && AsksForLock(e.Op) && e.Tenure == "":
		c.wrong(ProblemTenure, "%s was told that it has the lock, and not in which tenure", e.Lane)
	case !isClients(e.Kind) || e.Tenure == "":
	case a == nil:
		c.wrong(ProblemTenure, "%s names the tenure %s, which the lock service neither granted nor queued", e.Lane, e.Tenure)
	case !c.queued[clientTenure{e.Lane, e.Tenure}] && c.told[clientTenure{e.Lane, e.Tenure}] == nil:
		c.contradicts(a.first.Line, ProblemTenure, "%s names the tenure %s, and neither stood in the queue for it nor was told that it has it", e.Lane, e.Tenure)
	case e.Kind == KindOK && AsksForLock(e.Op):
		c.toldOf(e, a)
	case e.Kind == KindLost:
		c.lost(e, a)
	case e.Scope != "" && e.Scope != a.first.Scope && !ofItsKey(e):
		c.contradicts(a.first.Line, ProblemTenure, "%s names the tenure %s and the scope %q, and the tenure is of the lock %q", e.Lane, e.Tenure, e.Scope, a.first.Scope)
	}
}

// begins holds a tenure against what else the lock service tells of it, and its client's asking.
func (c *checker) begins(e Event, a *accountOf) {
	if e.Kind == KindGranted {
		a.granted = c.line
	}
	switch {
	case !tellsOf(e, a.first) || e.Mode != a.first.Mode:
		c.contradicts(a.first.Line, ProblemTenure, "%s is told of with another client, lock, token or mode", e.Tenure)
	case !c.askers[e.Client] && !c.names[clientTenure{e.Client, e.Tenure}]:
		c.wrong(ProblemTenure, "%s is a tenure of %s, who asked for no lock", e.Tenure, e.Client)
	}
}

// tellsOf reports whether an event agrees with what is known of a tenure, but for what it leaves out.
func tellsOf(e Event, known Entry) bool {
	return (e.Client == "" || e.Client == known.Client) && (e.Scope == "" || e.Scope == known.Scope) &&
		(e.Token == 0 || known.Token == 0 || e.Token == known.Token) && (e.Mode == fence.Exclusive || e.Mode == known.Mode)
}

func (c *checker) ended(e Event, a *accountOf) {
	switch {
	case a.ended != 0:
		c.contradicts(a.ended, ProblemTenure, "%s ends a second time", e.Tenure)
	case a.granted == 0:
		c.wrong(ProblemTenure, "%s ends, and was not granted before", e.Tenure)
	case !tellsOf(e, a.first):
		c.contradicts(a.first.Line, ProblemTenure, "%s ends, and is told of with another client, lock, token or mode", e.Tenure)
	}
	a.ended = cmp.Or(a.ended, c.line)
}

// toldOf looks whether a client that was told that it has the lock has it by the lock service's account.
func (c *checker) toldOf(e Event, a *accountOf) {
	switch {
	case !a.ever():
		c.contradicts(a.first.Line, ProblemTenure, "%s was told that it has the lock in %s, which the lock service did not grant", e.Lane, e.Tenure)
	case e.Scope != a.first.Scope:
		c.contradicts(a.first.Line, ProblemTenure, "%s was told that it has the lock %q in %s, which is of the lock %q", e.Lane, e.Scope, e.Tenure, a.first.Scope)
	case e.Mode != fence.Exclusive && e.Mode != a.first.Mode:
		c.contradicts(a.first.Line, ProblemTenure, "%s was told that it shares the lock in %s, which is exclusive", e.Lane, e.Tenure)
	case !c.canHave(e.Lane, a):
		c.contradicts(a.first.Line, ProblemTenure, "%s was told that it has the lock in %s, which the lock service granted to %s (of clients that share a session, the run's \"sessions\" says so)", e.Lane, e.Tenure, a.first.Client)
	}
}

// canHave reports whether a client can be told of a tenure: its own, or that of the client whose session it
// uses. If both were told of it, and worked in it, the judge decides.
func (c *checker) canHave(client string, a *accountOf) bool {
	own, other := clientTenure{client, a.first.Tenure}, clientTenure{a.first.Client, a.first.Tenure}
	return c.session(client) == c.session(a.first.Client) || c.told[other] != nil && c.worked[own] && c.worked[other]
}

// session is the client whose session a client uses.
func (c *checker) session(client string) string {
	if owner := c.run.Sessions[client]; owner != "" {
		return owner
	}
	return client
}

func (c *checker) lost(e Event, a *accountOf) {
	was := e.Token == 0 || e.Token == a.first.Token
	for _, told := range c.told[clientTenure{e.Lane, e.Tenure}] {
		was = was || e.Token == told.Token
	}
	if !was || e.Scope != "" && e.Scope != a.first.Scope {
		c.contradicts(a.first.Line, ProblemTenure, "%s lost %q in %s with the token %d, and that is neither what it was told nor what the lock service granted", e.Lane, e.Scope, e.Tenure, e.Token)
	}
}

// ofItsKey reports whether a request has a key as its scope, as where each key has a mark; a change has its
// first one. The answer to a request is held against the request.
func ofItsKey(e Event) bool {
	switch {
	case !AsksStorage(e.Op):
		return false
	case isAnswer(e.Kind) && e.Request != "":
		return true
	case e.Op == OpChange:
		return len(e.Changes) > 0 && e.Scope == e.Changes[0].Key
	}
	return e.Scope == e.Key
}

// unnamed looks for a request that names no tenure though its client was told of one, and neither gave it back
// nor lost it. A further attempt, or part of a change, says what the first one said.
func (c *checker) unnamed(e Event) {
	has := c.has[e.Lane]
	switch {
	case e.Kind == KindKill || e.Kind == KindRestart:
		delete(c.has, e.Lane)
	case e.Kind == KindOK && AsksForLock(e.Op) && e.Tenure != "":
		if has == nil {
			has = make(map[string]heldSince)
			c.has[e.Lane] = has
		}
		has[e.Scope] = heldSince{e.Tenure, c.line}
	case e.Kind == KindInvoke && e.Op == OpUnlock:
		maps.DeleteFunc(has, func(lock string, _ heldSince) bool { return e.Scope == "" || lock == e.Scope })
	case e.Kind == KindLost:
		maps.DeleteFunc(has, func(_ string, since heldSince) bool { return since.tenure == e.Tenure })
	case !sends(e) || e.Tenure != "" || e.RetryOf != "" || e.PartOf != "" && e.PartOf != e.Request:
	default:
		told := has[e.Scope].line
		if e.Scope == "" {
			for _, since := range has {
				told = max(told, since.line)
			}
		}
		if told != 0 {
			c.contradicts(told, ProblemTenure, "%s names no tenure, and was told that it has the lock: under which tenure it asks cannot be seen", e.Lane)
		}
	}
}

// wanted says which token a client is to be told and to show, by the word for it in the run.
var wanted = map[string]string{
	ShowsGrant: "that of the grant", ShowsLater: "that of the grant, or a later one", ShowsAny: "one of the lock service's",
	ShowsMax: "9223372036854775807", ShowsNone: "none",
}

func want(how string) string { return cmp.Or(wanted[how], `an entry in the run's "tokens"`) }

// WrongToken says what is wrong with the token that a client was told of a grant, by the run's word for what the
// client shows; "": nothing.
func WrongToken(how string, told, granted fence.Token) string {
	right := false
	switch how {
	case ShowsGrant:
		right = told == granted
	case ShowsLater:
		right = told >= granted
	case ShowsAny:
		right = told > 0
	case ShowsMax:
		right = told == math.MaxInt64
	case ShowsNone:
		right = told == 0
	}
	if right {
		return ""
	}
	return fmt.Sprintf("was told %s of a grant with %s, want %s", tokenInWords(told), tokenInWords(granted), want(how))
}

func tokenInWords(token fence.Token) string {
	if token == 0 {
		return "no token"
	}
	return fmt.Sprintf("the token %d", token)
}

// token holds the numbers that a client was told and shows against those that it is to show.
func (c *checker) token(e Event) {
	switch {
	case e.Tenure != "" && c.tenures[e.Tenure] == nil: // which is said elsewhere
	case e.Kind == KindOK && AsksForLock(e.Op):
		c.toldToken(e)
	case sends(e) && !c.mayShow(e):
		under, right := "no tenure", "none"
		if e.Tenure != "" {
			under, right = "the tenure "+e.Tenure, want(c.run.Tokens[e.Lane])
		}
		c.wrong(ProblemToken, "%s shows %s under %s, want %s", e.Lane, tokenInWords(e.Token), under, right)
	}
}

func (c *checker) toldToken(e Event) {
	if e.Tenure == "" {
		return // which is said elsewhere
	}
	first := c.tenures[e.Tenure].first
	if wrong := WrongToken(c.run.Tokens[e.Lane], e.Token, first.Token); wrong != "" {
		c.contradicts(first.Line, ProblemToken, "%s: %s %s", e.Tenure, e.Lane, wrong)
	}
}

// mayShow reports whether a request shows what its client was told, or, in the queue, its place's token.
func (c *checker) mayShow(e Event) bool {
	how := c.run.Tokens[e.Lane]
	switch {
	case how == ShowsMax && e.Token == math.MaxInt64, e.Token == 0 && (how == ShowsNone || e.Op == OpRead || e.Tenure == ""):
		return true
	case e.Tenure == "", how == "":
		return false
	}
	for _, ok := range c.told[clientTenure{e.Lane, e.Tenure}] {
		if ok.Token == e.Token {
			return true
		}
	}
	switch how {
	case ShowsGrant, ShowsLater:
		return e.Token == c.tenures[e.Tenure].first.Token
	}
	return how == ShowsAny && e.Token > 0
}

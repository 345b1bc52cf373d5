package history

import "math"

// tenure holds the clients' word of tenures against the lock service's.
func (c *checker) tenure(e Event) {
	a := c.tenures[e.Tenure]
	switch {
	case e.Kind == KindGranted && a.granted:
		c.wrong(ProblemTenure, "%s is granted a second time", e.Tenure)
	case e.Kind == KindGranted:
		a.granted = true
	case e.Kind == KindEnded && a == nil:
		c.wrong(ProblemTenure, "%s ends, and is not granted", e.Tenure)
	case e.Kind == KindEnded:
		c.ended(e, a)
	case e.Kind == KindOK && asksForLock(e.Op) && e.Tenure == "":
		c.wrong(ProblemTenure, "%s was told that it has the lock, and not in which tenure", e.Lane)
	case !c.byClient(e) || e.Tenure == "":
	case a == nil:
		c.wrong(ProblemTenure, "%s names the tenure %s, which the lock service neither granted nor queued", e.Lane, e.Tenure)
	case a.waiter != e.Lane && c.told[clientTenure{e.Lane, e.Tenure}] == nil:
		c.wrong(ProblemTenure, "%s names the tenure %s, and neither stood in the queue for it nor was told that it has it", e.Lane, e.Tenure)
	case e.Kind == KindOK && asksForLock(e.Op) && !a.ever:
		c.wrong(ProblemTenure, "%s was told that it has the lock in %s, which the lock service did not grant", e.Lane, e.Tenure)
	case e.Kind == KindOK && asksForLock(e.Op) && e.Scope != a.grant.Scope:
		c.wrong(ProblemTenure, "%s was told that it has the lock %q in %s, which is of the lock %q", e.Lane, e.Scope, e.Tenure, a.grant.Scope)
	}
}

func (c *checker) ended(e Event, a *accountOf) {
	switch {
	case a.ended:
		c.wrong(ProblemTenure, "%s ends a second time", e.Tenure)
	case !a.granted:
		c.wrong(ProblemTenure, "%s ends, and was not granted before", e.Tenure)
	}
	a.ended = true
}

// byClient reports whether an event is a client's word.
func (c *checker) byClient(e Event) bool {
	return e.Kind == KindInvoke || e.Kind == KindLost || isAnswer(e.Kind)
}

// token holds the numbers that a client was told and shows against those that its
// setting names.
func (c *checker) token(e Event) {
	switch {
	case e.Tenure != "" && c.tenures[e.Tenure] == nil: // which is said elsewhere
	case e.Kind == KindOK && asksForLock(e.Op):
		c.toldToken(e)
	case e.Kind == KindInvoke && asksStorage(e.Op) && e.Request != "":
		c.shownToken(e)
	}
}

func (c *checker) toldToken(e Event) {
	if e.Tenure == "" {
		return // which is said elsewhere
	}
	how, granted, right := c.run.Tokens[e.Lane], c.tenures[e.Tenure].grant.Token, false
	switch how {
	case ShowsGrant:
		right = e.Token == granted
	case ShowsLater:
		right = e.Token >= granted
	case ShowsAny:
		right = e.Token > 0
	case ShowsMax:
		right = e.Token == math.MaxInt64
	case ShowsNone:
		right = e.Token == 0
	}
	if !right {
		c.wrong(ProblemToken, "%s was told the token %d in %s, which was granted with %d: that is not what its setting %q names", e.Lane, e.Token, e.Tenure, granted, how)
	}
}

func (c *checker) shownToken(e Event) {
	if !c.mayShow(e) {
		c.wrong(ProblemToken, "%s shows the token %d, which is neither that of its tenure %q nor what its setting %q names", e.Lane, e.Token, e.Tenure, c.run.Tokens[e.Lane])
	}
}

// mayShow reports whether a request shows what its client was told of its tenure,
// or, while it waits in the queue, what the lock service says of its place.
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
		return e.Token == c.tenures[e.Tenure].grant.Token
	}
	return how == ShowsAny && e.Token > 0
}

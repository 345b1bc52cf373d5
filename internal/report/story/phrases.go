package story

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The words of the rows. Each names its actor, so that it can be read without the picture beside it.

func name(lane string) string {
	switch lane {
	case "":
		return "somebody"
	case LaneService, history.LaneStorage:
		return "the " + lane
	}
	return lane
}

func lock(scope string) string { return cmp.Or(scope, "the lock") }

// token names the token of e between before and after, and says where there is none.
func token(e history.Event, before, after string) Text {
	if e.Token == 0 {
		return Say("%sno"+Tie+"token%s", before, after)
	}
	kind := "token"
	if e.Mode == fence.Shared {
		kind = "shared token"
	}
	return Strong("%s%s%s", before, numbered(kind, e.Token), after)
}

// numbered writes a token or a mark after its name: on one line, unless it is too long for a count.
func numbered(name string, t fence.Token) string {
	s := t.String()
	if len(s) > 12 {
		return name + " " + s
	}
	return name + Tie + s
}

// ticket names the token that a client will have once the lock is its own.
func ticket(e history.Event) Text {
	if e.Token == 0 {
		return Say("without a ticket")
	}
	return append(Say("its ticket is"), Strong("%s", e.Token)...)
}

// shows says which number a client takes for its token instead of that of its grant.
func shows(e history.Event, granted fence.Token) Text {
	return slices.Concat(Say("%s shows", name(e.Lane)), token(e, "", ""), Say("from now on, not the grant's token %s", granted))
}

// releases says that a client let go. again is its request if that was about an older tenure.
func releases(e history.Event, g *history.Tenure, again *request) Text {
	if !g.Known() || again == nil || again.invoke.Tenure == "" || again.invoke.Tenure == g.ID || again.invoke.Scope != e.Scope {
		return Say("%s releases %s", name(e.Client), lock(e.Scope))
	}
	says := append(Say("%s's unlock of its old tenure,", name(e.Client)), token(again.invoke, "", ",")...)
	if g.Token == 0 {
		return append(says, Say("releases its new one of %s", lock(e.Scope))...)
	}
	return slices.Concat(says, Say("releases its new one of %s,", lock(e.Scope)), Strong("token"+Tie+"%s", g.Token))
}

var verbs = map[string]string{
	history.OpLock:    "asks for",
	history.OpTryLock: "tries to get",
	history.OpUnlock:  "releases",
	history.OpRenew:   "renews",
	history.OpWrite:   "writes",
	history.OpChange:  "changes",
	history.OpCount:   "begins to count in",
	history.OpRead:    "reads",
	history.OpDelete:  "deletes",
}

// doing says what a request does: "client1 writes key0=a, token 5".
func doing(e history.Event) Text {
	says := Say("%s %s", name(actor(e)), cmp.Or(verbs[e.Op], "does "+e.Op))
	switch {
	case server(e.Op) == LaneService:
		return append(says, Say("%s", lock(e.Scope))...)
	case e.Op == history.OpCount || verbs[e.Op] == "":
		return append(says, Solid(e.Key)...)
	}
	return slices.Concat(says, object(e, ","), token(e, "", ""), more(e))
}

// noun names a request: "write of key0=a".
func noun(e history.Event) Text {
	switch {
	case server(e.Op) == LaneService:
		return Say("%s of %s", e.Op, lock(e.Scope))
	case verbs[e.Op] != "":
		return append(Say("%s of", e.Op), object(e, "")...)
	}
	return Say("%s", cmp.Or(e.Op, "request"))
}

// object is what a request to the storage is about; it ends in end.
func object(e history.Event, end string) Text {
	switch e.Op {
	case history.OpWrite:
		return Solid(pair(e.Key, e.Value) + end)
	case history.OpChange:
		return pairs(e, end)
	}
	return Solid(e.Key + end)
}

// pairs lists the changes of e; the last one ends in end.
func pairs(e history.Event, end string) (t Text) {
	for i, c := range e.Changes {
		sign := ","
		if i == len(e.Changes)-1 {
			sign = end
		}
		t = append(t, Solid(pair(c.Key, c.Value)+sign)...)
	}
	return t
}

// refrains says what a client does not ask for, because the lock that it looked for is not its own.
func refrains(e history.Event, why string) Text {
	text := slices.Concat(Say("%s sends no", name(actor(e))), noun(e))
	return append(end(text, ":"), Say("%s", cmp.Or(why, "it finds that the lock is not its own"))...)
}

// part says which write of a change the storage tells of.
func part(r *request) Text {
	if r == nil || r.invoke.Op != history.OpChange {
		return nil
	}
	return Say("(%d"+Tie+"of"+Tie+"%d)", r.parts, len(r.invoke.Changes))
}

// actor is who asks, in a client's account and in the storage's.
func actor(e history.Event) string {
	if e.Lane == history.LaneStorage || e.Lane == LaneService {
		return e.Client
	}
	return e.Lane
}

func more(e history.Event) (t Text) {
	if e.Sequence != 0 {
		t = Say("(sequence %d)", e.Sequence)
	}
	if e.RetryOf != "" {
		t = append(t, Say("(a retry)")...)
	}
	return t
}

func failed(client string, e history.Event, holder string) Text {
	switch {
	case e.Op == history.OpTryLock:
		return Say("%s does not get %s", client, lock(e.Scope))
	case e.Op == history.OpLock && holder != "" && holder != client:
		return Say("%s's lock of %s, which %s holds, failed", client, lock(e.Scope), holder)
	}
	return slices.Concat(Say("%s's", client), noun(e), Say("failed"))
}

func because(t Text, e history.Event) Text {
	why := cmp.Or(e.Text, e.Reason)
	if why == "" {
		return t
	}
	return append(end(t, ":"), Say("%s", why)...)
}

func refusal(e history.Event) Text {
	switch {
	case e.Reason == "stale" && e.Token != 0 && e.Token == e.Mark:
		return append(Strong("REFUSED as stale:"), Say("a later request of this tenure was done")...)
	case e.Reason == "stale" && e.Mark == 0: // the storage does not tell its mark
		return Strong("REFUSED as stale")
	case e.Reason == "stale" && e.Token > e.Mark:
		return slices.Concat(Strong("REFUSED as stale:"), token(e, "", ""), Say("differs from the"), Strong("mark,"+Tie+"%s", e.Mark))
	case e.Reason == "stale":
		return slices.Concat(Strong("REFUSED as stale:"), Say("the"), Strong("%s", numbered("mark"+Tie+"is", e.Mark)))
	case e.Reason == "missing":
		return Strong("REFUSED: a token is required")
	case e.Reason == "invalid":
		return Strong("REFUSED: that is no valid token")
	case e.Reason == "ahead":
		return append(Strong("REFUSED as ahead:"), Say("the lock service gave out no token so high")...)
	case e.Reason == "" && e.Text == "":
		return Strong("REFUSED")
	}
	return append(Strong("REFUSED:"), Say("%s %s", e.Reason, e.Text)...)
}

func paused(e history.Event) Text {
	switch {
	case e.Lane == history.LaneLab: // which takes no part in the story
		return Say("the machine stands still, which is nobody's step")
	case e.Cause == history.CauseGC:
		return Say("%s is stopped by its garbage collector", name(e.Lane))
	case e.Cause == "":
		return Say("%s is stopped", name(e.Lane))
	}
	return Say("%s is stopped (%s)", name(e.Lane), e.Cause)
}

func resumed(e history.Event) Text {
	who := name(e.Lane)
	if e.Lane == history.LaneLab {
		who = "the machine"
	}
	if e.Took > 0 {
		return Say("%s goes on; it stood still for %s", who, Took(e.Took))
	}
	return Say("%s goes on", who)
}

// network says what happens to a lane's messages, in the words of e if it has any.
func network(e history.Event) Text {
	if e.Text != "" {
		return Say("%s", e.Text)
	}
	return Say("%s's network: %s", name(e.Lane), e.Cause)
}

// whileStopped says how long before the end of its lease a client was hit.
func whileStopped(a *history.Actor, e history.Event) string {
	hit := ""
	switch {
	case a.Dead():
		hit = "killed"
	case a.Paused():
		hit = "stopped"
	default:
		return ""
	}
	after := " after it was " + hit
	if took := cmp.Or(e.Took, e.At-a.Fault.At); took > 0 {
		return ", " + Took(took) + after
	}
	return after
}

func value(key string, e history.Event) Text {
	if e.Missing {
		return Say("%s has no value", key)
	}
	return Solid(pair(key, e.Value))
}

// done says that the storage applied e; loudly, where e changes something that it must not.
func done(e history.Event, fencing, harmful bool) Text {
	said := "applied"
	if !fencing {
		said += " unchecked"
	}
	switch {
	case harmful && e.Op != history.OpRead:
		return Strong("%s", strings.Replace(said, "applied", "APPLIED", 1))
	case fencing && e.Mark != 0:
		return append(Say("admitted,"), Strong("%s", numbered("mark", e.Mark))...)
	}
	return Say("%s", said)
}

// end ends a phrase with a sign, for what comes after it.
func end(t Text, sign string) Text {
	t = slices.Clone(t)
	if n := len(t); n > 0 {
		t[n-1].Text += sign
	}
	return t
}

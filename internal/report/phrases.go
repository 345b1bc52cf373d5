package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The words of the rows. Each names its actor, so that it can be read without
// the picture beside it.

// name is how a sentence calls a lane.
func name(lane string) string {
	switch lane {
	case "":
		return "somebody"
	case history.LaneEtcd:
		return "the lock service"
	case history.LaneStorage:
		return "the storage"
	}
	return lane
}

func lock(scope string) string {
	if scope == "" {
		return "the lock"
	}
	return scope
}

// token names the token of e between before and after, and says where there is
// none.
func token(e history.Event, before, after string) Text {
	if e.Token == 0 {
		return say("%sno"+tie+"token%s", before, after)
	}
	return strong("%s%s%s", before, numbered("token", e.Token), after)
}

// numbered writes a token or a mark after its name: on the same line, unless it
// is longer than a token that counts anything.
func numbered(name string, t fence.Token) string {
	s := t.String()
	if len(s) > 12 {
		return name + " " + s
	}
	return name + tie + s
}

// ticket names the token that a client will have once the lock is its own.
func ticket(e history.Event) Text {
	if e.Token == 0 {
		return say("without a ticket")
	}
	return append(say("its ticket is"), strong("%s", e.Token)...)
}

// shows says which number a client takes for its token instead of the one that
// the lock service's account has.
func shows(e history.Event, create string) Text {
	return slices.Concat(say("%s shows", name(e.Lane)), token(e, "", ""), say("from now on, not the create revision %s", create))
}

// releases says that a client let go. again is its request where that was about
// an older tenure than the one that it ended.
func releases(e history.Event, g *tenure, again *request) Text {
	if g == nil || again == nil || again.invoke.Tenure == "" || again.invoke.Tenure == g.id {
		return say("%s releases %s", name(e.Client), lock(e.Scope))
	}
	return slices.Concat(say("%s's unlock of its old tenure,", name(e.Client)), token(again.invoke, "", ","),
		say("releases its new one of %s,", lock(e.Scope)), strong("token"+tie+"%s", g.token))
}

// doing says what a request does: "client1 writes key0=a, token 5".
func doing(e history.Event) Text {
	who := say("%s", name(actor(e)))
	switch e.Op {
	case history.OpLock:
		return append(who, say("asks for %s", lock(e.Scope))...)
	case history.OpTryLock:
		return append(who, say("tries to get %s", lock(e.Scope))...)
	case history.OpUnlock:
		return append(who, say("releases %s", lock(e.Scope))...)
	case history.OpWrite:
		return slices.Concat(who, say("writes"), solid(pair(e.Key, e.Value)+","), token(e, "", ""), more(e))
	case history.OpChange:
		return slices.Concat(who, say("changes"), pairs(e, ","), token(e, "", ""), more(e))
	case history.OpCount:
		return slices.Concat(who, say("begins to count in"), solid(e.Key))
	case history.OpRead:
		return slices.Concat(who, say("reads"), solid(e.Key+","), token(e, "", ""), more(e))
	case history.OpDelete:
		return slices.Concat(who, say("deletes"), solid(e.Key+","), token(e, "", ""), more(e))
	}
	return slices.Concat(who, say("does %s", e.Op), solid(e.Key))
}

// noun names a request: "write of key0=a".
func noun(e history.Event) Text {
	switch e.Op {
	case history.OpWrite:
		return append(say("write of"), solid(pair(e.Key, e.Value))...)
	case history.OpChange:
		return append(say("change of"), pairs(e, "")...)
	case history.OpLock, history.OpTryLock, history.OpUnlock:
		return say("%s of %s", e.Op, lock(e.Scope))
	case history.OpRead, history.OpDelete, history.OpCount:
		return append(say("%s of", e.Op), solid(e.Key)...)
	case "":
		return say("request")
	}
	return say("%s", e.Op)
}

// refrains says what a client does not ask for, because it looked whether it
// holds the lock and found that it does not.
func refrains(e history.Event, why string) Text {
	text := slices.Concat(say("%s sends no", name(actor(e))), noun(e))
	if why == "" {
		why = "it finds that the lock is not its own"
	}
	return append(end(text, ":"), say("%s", why)...)
}

// pairs lists the changes of e; the last one ends in end.
func pairs(e history.Event, end string) (t Text) {
	for i, c := range e.Changes {
		if i+1 < len(e.Changes) {
			t = append(t, solid(pair(c.Key, c.Value)+",")...)
		} else {
			t = append(t, solid(pair(c.Key, c.Value)+end)...)
		}
	}
	return t
}

// part says which write of a change the storage tells of.
func part(r *request) Text {
	if r == nil || r.invoke.Op != history.OpChange {
		return nil
	}
	return say("(%d"+tie+"of"+tie+"%d)", r.parts, len(r.invoke.Changes))
}

// actor is who asks, in a client's account and in the storage's.
func actor(e history.Event) string {
	if e.Lane == history.LaneStorage || e.Lane == history.LaneEtcd {
		return e.Client
	}
	return e.Lane
}

// more says what else sets a request apart.
func more(e history.Event) (t Text) {
	if e.Sequence != 0 {
		t = say("(sequence %d)", e.Sequence)
	}
	if e.RetryOf != "" {
		t = append(t, say("(a retry)")...)
	}
	return t
}

func failed(client string, e history.Event) Text {
	if e.Op == history.OpTryLock {
		return say("%s does not get %s", client, lock(e.Scope))
	}
	return slices.Concat(say("%s's", client), noun(e), say("failed"))
}

// because adds the reason that e gives.
func because(t Text, e history.Event) Text {
	why := e.Text
	if why == "" {
		why = e.Reason
	}
	if why == "" {
		return t
	}
	return append(end(t, ":"), say("%s", why)...)
}

// refusal says why the storage refused e.
func refusal(e history.Event) Text {
	switch {
	case e.Reason == "stale" && e.Token != 0 && e.Token == e.Mark:
		return append(strong("REFUSED as stale:"), say("a later request of this tenure was done")...)
	case e.Reason == "stale":
		return slices.Concat(strong("REFUSED as stale:"), say("the"), strong("%s", numbered("mark"+tie+"is", e.Mark)))
	case e.Reason == "missing":
		return strong("REFUSED: a token is required")
	case e.Reason == "invalid":
		return strong("REFUSED: that is no valid token")
	case e.Reason == "ahead":
		return append(strong("REFUSED as ahead:"), say("the lock service gave out no token so high")...)
	case e.Reason == "" && e.Text == "":
		return strong("REFUSED")
	}
	return append(strong("REFUSED:"), say("%s %s", e.Reason, e.Text)...)
}

func paused(e history.Event) Text {
	switch e.Cause {
	case history.CauseStop:
		return say("%s is stopped (SIGSTOP)", name(e.Lane))
	case history.CauseGC:
		return say("%s is stopped by its garbage collector", name(e.Lane))
	case "":
		return say("%s is stopped", name(e.Lane))
	}
	return say("%s is stopped (%s)", name(e.Lane), e.Cause)
}

// network says what happens to a lane's messages, in the words of e if it has any.
func network(e history.Event) Text {
	if e.Text != "" {
		return say("%s", e.Text)
	}
	return say("%s's network: %s", name(e.Lane), e.Cause)
}

// whileStopped says how long before the end of its lease a client was hit.
func whileStopped(l *Lane, e history.Event) string {
	if l == nil || l.State == Running {
		return ""
	}
	hit := "stopped"
	if l.State == Dead {
		hit = "killed"
	}
	return ", " + took(cmp.Or(e.Took, e.At-l.Since)) + " after it was " + hit
}

// value says what a key holds.
func value(key string, e history.Event) Text {
	if e.Missing {
		return say("%s has no value", key)
	}
	return solid(pair(key, e.Value))
}

// done says that the storage applied e; loudly, where e changes something that it
// must not.
func done(e history.Event, fencing, harmful bool) Text {
	said := "applied"
	if !fencing {
		said += " unchecked"
	}
	switch {
	case harmful && e.Op != history.OpRead:
		return strong("%s", strings.Replace(said, "applied", "APPLIED", 1))
	case fencing && e.Mark != 0:
		return append(say("admitted,"), strong("%s", numbered("mark", e.Mark))...)
	}
	return say("%s", said)
}

// end ends a phrase with a sign, for what comes after it.
func end(t Text, sign string) Text {
	t = slices.Clone(t)
	if n := len(t); n > 0 {
		t[n-1].Text += sign
	}
	return t
}

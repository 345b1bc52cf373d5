package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Account is what the clients' accounts say of the lock service.
type Account struct {
	Exclusive lockmodel.Answer `json:"exclusive"`
	Ordered   lockmodel.Answer `json:"ordered"`
	Reasons   []string         `json:"reasons,omitempty"` // why one of them is not yes, and how the clocks were set
	Stray     bool             `json:"-"`                 // an unlock may have ended another client's tenure; it alone explains the rest
	At        int              `json:"-"`                 // the first event that shows that a lock was not exclusive, or its tokens did not grow
}

// UntilTold is the Clocks.TTL of leases that last until the client lets go, or is told of the loss.
const UntilTold = time.Duration(never)

// Locks judges the locks by their clients' accounts alone, whether or not the lock service's account is there.
func Locks(events []history.Event, c Clocks) Account { return hear(events, c).account() }

// Unserved reports whether clients were told of locks, and the lock service's account is missing.
func Unserved(events []history.Event) bool {
	told := false
	for _, e := range events {
		switch {
		case e.Kind == history.KindGranted, e.Kind == history.KindEnded, e.Kind == history.KindQueued:
			return false
		case e.Kind == history.KindOK && history.AsksForLock(e.Op) && e.Tenure != "":
			told = true
		}
	}
	return told
}

// ByClients judges a history without the lock service's account. The data is judged by the order of the tenures, as far
// as tokens or times tell it. Whether the service granted a lock in time is not judged: that takes the ends of tenures.
func ByClients(events []history.Event, c Clocks) (Judgement, error) {
	w := hear(events, c)
	account := w.account()
	whole, places := w.granted(events)
	if problems := history.Check(whole); problems != nil {
		for i, p := range problems {
			problems[i].Line = places[p.Line-1] + 1
			if p.Against != 0 {
				problems[i].Against = places[p.Against-1] + 1
			}
		}
		return Judgement{}, &history.InvalidError{Problems: problems}
	}
	v := verdict.Judge(whole)
	found, left := v.Violations, v.Undecided
	v.Name, v.Violations, v.Overlaps, v.Passed, v.Fair, v.Mismatches = history.Safe, nil, nil, nil, nil, nil
	v.Exclusive, v.Ordered = account.Exclusive == lockmodel.Yes, account.Ordered == lockmodel.Yes
	answered := func(v history.Violation) bool { return v.Kind != history.Unanswered }
	v.Undecided = append(w.doubts(whole), slices.DeleteFunc(left, answered)...)
	for _, violation := range found {
		at := func(doubt history.Violation) bool { return doubt.Event == violation.Event }
		switch {
		case violation.Verdict != history.Corrupted:
		case violation.Kind == history.Unguarded || w.doubtful(whole, violation):
			if !slices.ContainsFunc(v.Undecided, at) {
				violation.Kind, violation.Verdict = history.Unordered, ""
				violation.Text += ": which tenure came first, or when it ended, no account tells"
				v.Undecided = append(v.Undecided, violation)
			}
		default:
			v.Violations = append(v.Violations, violation)
		}
	}
	switch {
	case len(v.Violations) > 0:
		v.Name = history.Corrupted
	case len(v.Undecided) > 0:
		v.Name = history.Undecided
	}
	for _, list := range [][]history.Violation{v.Violations, v.Undecided} {
		for i := range list {
			list[i].Event = places[list[i].Event]
			if list[i].Before >= 0 {
				list[i].Before = places[list[i].Before]
			}
		}
	}
	return Judgement{Verdict: v, Storage: opinion(events, within), Clients: &account}, nil
}

// account asks package lockmodel about each lock.
func (w *words) account() Account {
	c := w.clocks
	a := Account{Exclusive: lockmodel.Yes, Ordered: lockmodel.Yes}
	if c.AreSet() {
		a.say("%s", c.set)
	}
	for _, lock := range w.locks() {
		told := w.model(lock)
		several := slices.ContainsFunc(told.Holds, func(h lockmodel.Hold) bool { return h.Client != told.Holds[0].Client })
		exclusive, because := lockmodel.Exclusive.Check(told, c.Skew, within)
		a.show(w, because)
		switch {
		case exclusive == lockmodel.No && c.TTL == 0:
			exclusive = lockmodel.Undecided
			a.say("whether %s was exclusive depends on how long a lease lasts, which nothing tells (--ttl): %s", lock, w.overlap(because.Holds))
		case exclusive == lockmodel.No:
			a.say("%s was not exclusive: %s", lock, w.overlap(because.Holds))
		case len(because.Unlocks) > 0:
			a.Stray = true
			a.say("whether %s was exclusive depends on whether an unlock ended another client's tenure: %s; %s", lock, unlocks(because.Unlocks), w.overlap(because.Holds))
		case exclusive == lockmodel.Undecided:
			a.say("whether %s was exclusive: there was no result within %v", lock, within)
		}
		ordered, because := lockmodel.Ordered.Check(told, c.Skew, within)
		a.show(w, because)
		switch bare := slices.ContainsFunc(told.Holds, func(h lockmodel.Hold) bool { return h.Token == 0 }); {
		case ordered == lockmodel.No:
			w.distrust(lock)
			a.say("the tokens of %s did not grow: %s", lock, tokens(because.Holds))
		case bare:
			ordered = lockmodel.Undecided
			a.say("whether the tokens of %s grew: clients were told none", lock)
		case ordered == lockmodel.Undecided:
			a.say("whether the tokens of %s grew: there was no result within %v", lock, within)
		}
		if c.Skew < 0 && several && (exclusive == lockmodel.Yes || ordered == lockmodel.Yes) {
			exclusive, ordered = worse(exclusive, lockmodel.Undecided), worse(ordered, lockmodel.Undecided)
			a.say("%s: nothing tells by how much the clocks of its clients differ (--skew), so only the order within a client's account counts", lock)
		}
		a.Exclusive, a.Ordered = worse(a.Exclusive, exclusive), worse(a.Ordered, ordered)
	}
	return a
}

func (a *Account) say(format string, args ...any) {
	a.Reasons = append(a.Reasons, fmt.Sprintf(format, args...))
}

// show takes in holds that together break a law.
func (a *Account) show(w *words, because lockmodel.Lock) {
	last := 0
	for _, h := range because.Holds {
		last = max(last, w.named[name{h.Client, h.Name}].told)
	}
	if last > 0 && (a.At == 0 || last < a.At) {
		a.At = last
	}
}

// widest is by how much clocks can differ.
func (c Clocks) widest() time.Duration {
	if c.Skew < 0 {
		return never / 2
	}
	return c.Skew
}

func worse(a, b lockmodel.Answer) lockmodel.Answer {
	for _, answer := range []lockmodel.Answer{lockmodel.No, lockmodel.Undecided} {
		if a == answer || b == answer {
			return answer
		}
	}
	return lockmodel.Yes
}

func (w *words) overlap(holds []lockmodel.Hold) string {
	return list(holds, func(h lockmodel.Hold) string {
		until := "for ever"
		if over := w.named[name{h.Client, h.Name}].over(); over < never {
			until = fmt.Sprintf("until %.3f s", seconds(over))
		}
		return fmt.Sprintf("%s was told at %.3f s that it has it (%s), %s at least", h.Client, seconds(h.Told), h.Name, until)
	})
}

func unlocks(unlocks []lockmodel.Unlock) string {
	return list(unlocks, func(u lockmodel.Unlock) string {
		return fmt.Sprintf("%s asked for an unlock at %.3f s", u.Client, seconds(u.Asked))
	})
}

func tokens(holds []lockmodel.Hold) string {
	return list(holds, func(h lockmodel.Hold) string {
		return fmt.Sprintf("%s was told the token %d at %.3f s", h.Client, h.Token, seconds(h.Told))
	})
}

func list[T any](told []T, say func(T) string) string {
	var parts []string
	for _, one := range told {
		parts = append(parts, say(one))
	}
	return strings.Join(parts, "; ")
}

func seconds(at int64) float64 { return time.Duration(at).Seconds() }

// granted fills in a grant for each tenure that a client was told of, and says for each event where it stood, or, of a
// grant, what it stands before: the first answer that must come after it.
func (w *words) granted(events []history.Event) (whole []history.Event, places []int) {
	before := make(map[int][]*hold) // event → grants
	for _, lock := range w.locks() {
		place := len(events)
		for _, h := range slices.Backward(w.inTurn(lock)) {
			place = min(place, h.told)
			before[place] = append(before[place], h)
		}
	}
	said := make(map[string]bool)
	for i, e := range events {
		for _, h := range slices.Backward(before[i]) {
			if said[h.Name] { // another client of the same session told it
				continue
			}
			said[h.Name] = true
			whole, places = append(whole, h.grant(w.run.LockService(), e.At)), append(places, i)
		}
		whole, places = append(whole, e), append(places, i)
	}
	run := *w.run
	run.Bounds, run.Handover, run.Expect = nil, 0, history.Expect{}
	whole[0].Run = &run
	return whole, places
}

// inTurn are the holds of a lock in the order of their grants, as far as that is known; else of the answers.
func (w *words) inTurn(lock string) (list []*hold) {
	for _, h := range w.holds {
		if h.lock != lock {
			continue
		}
		place := slices.IndexFunc(list, func(other *hold) bool { return w.first(h, other) })
		if place < 0 {
			place = len(list)
		}
		list = slices.Insert(list, place, h)
	}
	return list
}

func (h *hold) grant(service string, at time.Duration) history.Event {
	e := history.Event{At: at, Lane: service, Kind: history.KindGranted, Client: h.Client, Tenure: h.Name, Scope: h.lock}
	if h.shows == history.ShowsGrant || h.shows == history.ShowsLater {
		e.Token = fence.Token(h.Token)
	}
	if h.Shared {
		e.Mode = fence.Shared
	}
	return e
}

// inOrder reports whether it is known which of two tenures of a lock was granted first, or does not matter.
func (w *words) inOrder(a, b *hold) bool {
	return a == nil || b == nil || a.Name == b.Name || a.lock != b.lock || a.Shared && b.Shared || w.first(a, b) || w.first(b, a)
}

// first reports whether a tenure is known to have been granted before another one: by the numbers of the grants, by the
// times of the answers, or because the other order is none of an exclusive lock.
func (w *words) first(a, b *hold) bool {
	skew := int64(w.clocks.widest())
	if a.Client == b.Client {
		skew = 0
	}
	if a.number && b.number && a.Token != b.Token {
		return a.Token < b.Token
	}
	if a.Told+skew < b.Asked || b.Told+skew < a.Asked {
		return a.Told < b.Told
	}
	return w.earliest(a)-skew <= b.Told && w.earliest(b)-skew > a.Told
}

// earliest is when a tenure can have been over.
func (w *words) earliest(h *hold) int64 {
	if w.clocks.TTL == 0 {
		return h.Asked
	}
	return max(h.Asked, h.over())
}

// doubts are where a tenure changes something, or shares its lock and reads, after another one's work, and which of them
// was granted first is not known. Each event has one at most, and each pair of tenures is told of once.
func (w *words) doubts(events []history.Event) (list []history.Violation) {
	used := make(map[*hold]int) // by its last use
	said := make(map[[2]*hold]bool)
	for i, e := range events {
		h := w.tenure(e)
		if e.Kind != history.KindApplied || h == nil {
			continue
		}
		var others []*hold
		for _, other := range w.holds {
			pair := [2]*hold{other, h}
			if _, known := used[other]; known && (e.Op != history.OpRead || h.Shared) && !said[pair] && !w.inOrder(other, h) {
				said[pair] = true
				others = append(others, other)
			}
		}
		if len(others) > 0 {
			last := slices.MaxFunc(others, func(a, b *hold) int { return cmp.Compare(used[a], used[b]) })
			text := fmt.Sprintf("%s's %s of %s at %.3f s came after %s's work: which of %s and %s was granted first, neither tokens nor times tell",
				h.Client, e.Op, e.Key, e.At.Seconds(), last.Client, last.Name, h.Name)
			if more := len(others) - 1; more > 0 {
				text += fmt.Sprintf(", nor of %d earlier ones and %s", more, h.Name)
			}
			list = append(list, history.Violation{Kind: history.Unordered, Before: used[last], Event: i, Text: text})
		}
		used[h] = i
	}
	return list
}

// doubtful reports whether a violation is one only in one order of two tenures, and the order is not known.
func (w *words) doubtful(events []history.Event, v history.Violation) bool {
	return v.Before >= 0 && !w.inOrder(w.tenure(events[v.Before]), w.tenure(events[v.Event]))
}

// distrust has the tokens of a lock tell no order.
func (w *words) distrust(lock string) {
	for _, h := range w.holds {
		h.number = h.number && h.lock != lock
	}
}

// tenure is the client's hold under which the request was made about which an event tells; nil: none.
func (w *words) tenure(e history.Event) *hold {
	if e.Request == "" {
		return nil
	}
	return w.named[w.under[e.Request]]
}

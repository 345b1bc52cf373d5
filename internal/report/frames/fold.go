package frames

import (
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/pkg/fence"
)

// folder folds the events of one frame after the other.
type folder struct {
	Options
	events  []history.Event
	ledger  *history.Ledger
	run     history.Run
	clients []string
	taken   int // events so far

	nodes   []history.Node           // of the lock service
	still   map[string]time.Duration // clients that cannot renew their leases, since when
	network map[string][]string      // lane → the faults of its network, the earliest first
	tokens  map[string]fence.Token   // lock → that of its last grant
	skips   bool                     // the last grant's token leaves out numbers
	notes   map[string]string        // lane → its last remark
	values  map[string]Value         // after the last frame
	refused map[string]bool          // requests, by the storage
	harms   map[int][][2]string      // an event's place → who did harm by it, and to whom it was done
	harm    map[string]string        // client → Did or Suffered
	waiting []Message                // requests under way
	wrong   []Message                // the last message, if it did harm or was refused
}

func newFolder(d story.Drawing, b *story.Builder, o Options) *folder {
	f := &folder{
		Options: o, events: d.Events, ledger: history.NewLedger(), run: b.Run(),
		still: make(map[string]time.Duration), network: make(map[string][]string), tokens: make(map[string]fence.Token), refused: make(map[string]bool),
		notes: make(map[string]string), values: make(map[string]Value), nodes: slices.Clone(b.Run().Nodes),
		harms: make(map[int][][2]string), harm: make(map[string]string),
	}
	for _, v := range d.Outcome.Violations {
		by, to := b.Sides(v)
		f.harms[v.Event] = append(f.harms[v.Event], [2]string{by, to})
	}
	for _, l := range b.Lanes() {
		if !slices.Contains([]string{story.LaneService, history.LaneStorage, history.LaneLab}, l.Name) {
			f.clients = append(f.clients, l.Name)
		}
	}
	return f
}

// frame takes the events up to a place, and says how all is after row r.
func (f *folder) frame(r story.Row, until int) Frame {
	for ; f.taken < until; f.taken++ {
		f.take(f.events[f.taken])
		for _, sides := range f.harms[f.taken] {
			f.harm[sides[0]], f.harm[sides[1]] = Did, Suffered
		}
	}
	frame := Frame{
		At: r.At.Milliseconds(), Text: r.Text.String(), Tone: r.Class.Tone, Harm: r.Harmful(),
		Skips:   f.skips && r.Class.Name == story.ClassGrant.Name,
		Service: f.service(), Clients: []Client{}, Storage: f.storage(r), Messages: f.messages(r), Moves: r.To != "",
	}
	for _, name := range f.clients {
		frame.Clients = append(frame.Clients, f.client(name))
	}
	return frame
}

func (f *folder) take(e history.Event) {
	if e.Lane == history.LaneStorage && e.Kind == history.KindKill && f.InMemory {
		f.ledger.Forget()
	}
	f.ledger.Take(e)
	switch e.Kind {
	case history.KindNote:
		f.notes[e.Lane] = e.Text
		if e.Lane == f.run.LockService() {
			f.place(e.Nodes)
		}
	case history.KindInvoke, history.KindKill:
		delete(f.notes, e.Lane)
	case history.KindNetwork:
		f.hit(e)
	case history.KindRefused: // told of once for each key
		f.refused[e.Request] = true
	case history.KindGranted:
		before := f.tokens[e.Scope]
		f.skips, f.tokens[e.Scope] = before > 0 && e.Token > before+1, e.Token
	}
	a := f.ledger.Actor(e.Lane)
	_, known := f.still[e.Lane]
	switch hindered := a.Paused() || a.Dead() || a.Cut; { // renewals can pass all other faults of its network
	case hindered && !known:
		f.still[e.Lane] = e.At
	case !hindered:
		delete(f.still, e.Lane)
	}
}

// place takes in how nodes are from now on. Who leads is said of all at once.
func (f *folder) place(now []history.Node) {
	another := slices.ContainsFunc(now, func(n history.Node) bool { return n.Leads })
	for i, old := range f.nodes {
		f.nodes[i].Leads = old.Leads && !another
		for _, n := range now {
			if n.Name == old.Name {
				f.nodes[i].State, f.nodes[i].Leads = n.State, n.Leads || f.nodes[i].Leads
			}
		}
	}
}

// hit takes in a fault of the network, or the end of some.
func (f *folder) hit(e history.Event) {
	mend := func(causes ...string) {
		f.network[e.Lane] = slices.DeleteFunc(f.network[e.Lane], func(cause string) bool { return slices.Contains(causes, cause) })
	}
	switch e.Cause {
	case history.CausePartition, history.CauseDeafen, history.CauseDelay:
		if !slices.Contains(f.network[e.Lane], e.Cause) {
			f.network[e.Lane] = append(f.network[e.Lane], e.Cause)
		}
	case history.CauseDeliver:
		mend(history.CauseDelay)
	case history.CauseHeal: // what is delayed stays so
		mend(history.CausePartition, history.CauseDeafen)
	case history.CauseReset: // the new connections are as good as any
		mend(history.CauseDelay)
		f.waiting = slices.DeleteFunc(f.waiting, func(m Message) bool { return m.From == e.Lane })
	}
}

func stateOf(a *history.Actor) string {
	switch {
	case a.Paused():
		return "paused"
	case a.Dead():
		return "dead"
	}
	return "running"
}

func (f *folder) service() Service {
	name := f.run.LockService()
	s := Service{Name: name, State: stateOf(f.ledger.Actor(name)), Note: f.notes[name], Nodes: append([]history.Node{}, f.nodes...), Locks: []Lock{}}
	lock := func(of string) *Lock {
		i := slices.IndexFunc(s.Locks, func(l Lock) bool { return l.Name == of })
		if i < 0 {
			i, s.Locks = len(s.Locks), append(s.Locks, Lock{Name: of, Holders: []Holder{}, Queue: []string{}})
		}
		return &s.Locks[i]
	}
	queue := func(l *Lock, client string) {
		holds := slices.ContainsFunc(l.Holders, func(h Holder) bool { return h.Client == client })
		if client != "" && !holds && !slices.Contains(l.Queue, client) {
			l.Queue = append(l.Queue, client)
		}
	}
	for _, t := range f.ledger.Tenures {
		if t.Known() {
			if l := lock(t.Scope); t.Granted.Came() && !t.Ended.Came() {
				l.Holders = append(l.Holders, Holder{t.Client, t.N, history.Decimal(t.Token)})
			}
		}
	}
	for _, t := range f.ledger.Tenures {
		if t.Queued.Came() && !t.Granted.Came() && !t.Ended.Came() {
			queue(lock(t.Scope), t.Client)
		}
	}
	for _, a := range f.ledger.Asks {
		if f.waits(a) {
			queue(lock(a.Lock), a.Client)
		}
	}
	return s
}

// waits reports whether a client still waits for the answer to what it asked.
func (f *folder) waits(a *history.Ask) bool {
	return !a.Answer.Came() && !f.ledger.Actor(a.Client).Dead()
}

func (f *folder) client(name string) Client {
	a := f.ledger.Actor(name)
	c := Client{Name: name, State: stateOf(a), Network: append([]string{}, f.network[name]...), Harm: f.harm[name], Note: f.notes[name], TTL: f.TTLs[name].Milliseconds()}
	if n := len(a.Holds); n > 0 {
		c.Holds, c.Token = a.Holds[n-1].N, history.Decimal(a.Holds[n-1].Token)
	}
	for _, h := range f.ledger.Holdings {
		if h.Client == name && h.Began.Came() && !h.Ended.Came() {
			c.Believes, c.Ended, c.Token = h.N, h.Tenure.Ended.Cause, history.Decimal(h.Token)
		}
	}
	for _, asked := range f.ledger.Asks {
		c.Waits = c.Waits || asked.Client == name && f.waits(asked)
	}
	if since, is := f.still[name]; is {
		ms := since.Milliseconds()
		c.Still = &ms
	}
	return c
}

func (f *folder) storage(r story.Row) Storage {
	s := Storage{State: stateOf(f.ledger.Actor(history.LaneStorage)), Checks: f.run.Fencing, Refused: len(f.refused), Values: []Value{}, Marks: []Mark{}}
	values := make(map[string]Value)
	for _, key := range slices.Sorted(maps.Keys(f.ledger.Values)) {
		e := f.ledger.Values[key]
		v, before := Value{Key: key, Value: e.Value, Client: e.Client, Tenure: f.tenure(e)}, f.values[key]
		v.Lost, before.Lost = before.Lost, nil
		switch same := (Value{v.Key, v.Value, v.Client, v.Tenure, nil}); {
		case same == before:
		case r.Harmful() && before.Key != "":
			v.Lost = &before
		default:
			v.Lost = nil
		}
		values[key] = v
		s.Values = append(s.Values, v)
	}
	f.values = values
	for _, lock := range slices.Sorted(maps.Keys(f.ledger.Marks)) {
		s.Marks = append(s.Marks, Mark{lock, history.Decimal(f.ledger.Marks[lock])})
	}
	return s
}

// tenure is in which tenure a request was made, by its client's account; 0: unknown.
func (f *folder) tenure(e history.Event) int {
	if id := f.ledger.Request(e.Request).Invoke.Tenure; id != "" {
		return f.ledger.Tenure(id).N
	}
	return 0
}

// messages are those under way after row r, and last its own.
func (f *folder) messages(r story.Row) []Message {
	f.waiting = slices.DeleteFunc(f.waiting, func(m Message) bool {
		q := f.ledger.Request(m.request)
		return m.request == r.Request || q.Done() || q.Known()
	})
	list := append([]Message{}, f.waiting...)
	if r.To == "" {
		return append(list, f.wrong...)
	}
	m := Message{From: r.Lane, To: r.To, Text: short(r), Token: r.Token, Tenure: r.Tenure, Way: Passes, Tone: r.Class.Tone, Harm: r.Harmful(), request: r.Request}
	switch {
	case r.Stopped():
		m.Way = Refused
	case r.Leg == story.Sent && r.Request != "":
		m.Way = Waits
		f.waiting = append(f.waiting, m)
	}
	if f.wrong = nil; m.Harm || m.Way == Refused {
		f.wrong = []Message{m}
	}
	return append(list, m)
}

// short says what a message is, where there is little room.
func short(r story.Row) string {
	switch e := r.Event; {
	case r.Class.Name == story.ClassGrant.Name:
		return "the lock"
	case r.Class.Name == story.ClassQueue.Name:
		return "wait"
	case e.Op == history.OpWrite:
		return e.Key + "=" + e.Value
	default:
		return story.Say("%s %s", e.Op, e.Key).String()
	}
}

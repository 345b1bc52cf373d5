package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/pkg/fence"
)

// state is what the run knows of its world, by the accounts so far.
type state struct {
	recorder *recorder
	clients  map[string]*clientState
	requests map[string]*request
	owners   map[string]*owner // by tenure
	latest   map[string]string // slot → tenure that was granted last
	names    map[string]string // tenure, as its client names it → as the lock service does
	asks     []*ask            // whose tenures are not known
	writes   int               // that the storage applied
	dead     bool              // the storage was killed
}

// request is one to the storage, by the two accounts of it.
type request struct {
	client   string
	place    int  // in the order of all that were asked
	sent     bool // and not waited for
	lost     bool // on the way to the storage
	parts    int  // changes that it is of
	done     int  // parts that the storage did or refused, or had done before
	pending  bool // it is done with the commit of its tenure's transaction, or not at all
	tenure   string
	answered bool
	known    bool // its client knows what the storage did
}

func (q *request) over() bool { return q.lost || q.done > 0 && q.done >= q.parts }

type clientState struct {
	reply   history.Event // the last to a command
	replies int           // to commands that are waited for
	notes   int
	stands  int              // how often it stood right before a write
	claims  []*claim         // the last one last
	step    string           // the name of the step that it does
	verb    scenario.Verb    // of that step
	begun   string           // the name of the step by which it began something
	sent    string           // the name of the step by which it was told to send something
	sending []history.Change // what it is yet to send, and is not waited for; one that is empty stands for any request
	unlocks bool             // it sent an unlock that is not waited for
	counted int              // counts that are over
	asked   map[string]bool  // slots that it lets go of
	cut     bool             // off from the lock service, so that nothing that it asks arrives there
	held    bool             // what it sends waits in the network
	deaf    bool             // what the storage answers to what it sends does not reach it
	lost    map[string]bool  // tenures of whose end it was told
	frozen  history.Event    // the pause that it is in
	moves   int              // pauses and resumes that it told of itself
}

// owner is a tenure by two accounts: the lock service's, and that of the client
// that holds it.
type owner struct {
	client  string
	scope   string
	token   fence.Token   // in the lock service's order
	told    time.Duration // when the client was told of its grant; 0: not yet
	heard   time.Duration // when the client first spoke of it; 0: not before it was told
	granted bool          // the lock service says that it began
	untold  bool          // its client took it before the one that it was told of, and gave it back
	left    bool          // its client waits no more, and was not told of it
	held    []history.Event
	ended   bool
	revoked bool
	unlocks time.Duration // when its client began to release it
}

// claim is what a client has of one lock, or had.
type claim struct {
	lock   string // its name, as the lock service knows it
	tenure string // the last that it was granted
	queued string // the tenure that it waits for since it queued
	queues bool   // the lock is asked for, and not waited for
	asked  int    // how often its client has said that it asks for the lock
}

// latest is the tenure that the client was granted last, or has queued for since.
func (k *claim) latest() string { return cmp.Or(k.queued, k.tenure) }

// claim is what the client has of a lock.
func (c *clientState) claim(lock string) *claim {
	for _, k := range c.claims {
		if k.lock == lock {
			return k
		}
	}
	k := &claim{lock: lock}
	c.putFirst(k)
	return k
}

// last is what the client has of the lock that a step is about which names none, as its
// agent understands the step: that of the last grant, or place in a queue, which it has
// not let go of.
func (c *clientState) last() *claim {
	if len(c.claims) == 0 {
		return new(claim)
	}
	return c.claims[len(c.claims)-1]
}

// putLast is told of a grant, or a place in a queue.
func (c *clientState) putLast(k *claim) { c.claims = append(c.without(k), k) }

// putFirst is told that the client lets go of a lock, or that it has asked for nothing
// but that.
func (c *clientState) putFirst(k *claim) { c.claims = slices.Insert(c.without(k), 0, k) }

func (c *clientState) without(k *claim) []*claim {
	return slices.DeleteFunc(c.claims, func(other *claim) bool { return other == k })
}

func newState(r *recorder) *state {
	return &state{
		recorder: r,
		clients:  make(map[string]*clientState),
		requests: make(map[string]*request),
		owners:   make(map[string]*owner),
		latest:   make(map[string]string),
		names:    make(map[string]string),
	}
}

func (s *state) client(name string) *clientState {
	c := s.clients[name]
	if c == nil {
		c = &clientState{asked: make(map[string]bool), lost: make(map[string]bool)}
		s.clients[name] = c
	}
	return c
}

func (s *state) owner(tenure string) *owner {
	o := s.owners[tenure]
	if o == nil {
		o = new(owner)
		s.owners[tenure] = o
	}
	return o
}

func (s *state) request(id string) *request {
	q := s.requests[id]
	if q == nil {
		q = new(request)
		s.requests[id] = q
	}
	return q
}

// take takes in one event of an account. Its At is still the time since 1970, as
// the process read it off its clock.
func (s *state) take(e history.Event) {
	e.At = s.recorder.since(time.Unix(0, int64(e.At)))
	e.Tenure = s.nameOf(e)
	switch e.Kind {
	case history.KindGranted, history.KindEnded, history.KindQueued:
		if e.Kind != history.KindQueued {
			s.recorder.tells(e)
		}
		if o := s.owner(e.Tenure); e.Kind != history.KindEnded {
			o.scope, o.token = e.Scope, e.Token
		}
		s.tenure(e)
		return
	case history.KindApplied, history.KindRefused, history.KindDuplicate, history.KindUnanswered:
		if e.Request == requestFinal {
			return
		}
		q := s.request(e.Request)
		q.done++
		e.Client = q.client
		if q.pending { // until then nothing is committed
			e.At = max(e.At, s.owner(q.tenure).unlocks)
		}
		if e.Kind == history.KindApplied && e.Op == history.OpWrite {
			s.writes++
		}
	case history.KindInvoke:
		c := s.client(e.Lane)
		if e.Step = c.step; len(c.sending) > 0 && c.isTold(e) >= 0 {
			e.Step = c.sent
		}
		s.invoked(c, e)
	case history.KindOK, history.KindFail, history.KindUnknown:
		if s.answer(e) {
			return
		}
	case history.KindNote:
		c := s.client(e.Lane)
		if q := s.requests[e.Request]; q != nil { // its answer comes with the unlock
			q.pending = true
			c.replies++
			c.reply = e
			break
		}
		c.notes++
		switch c.reply = e; e.Op {
		case "":
			if c.verb == scenario.Unlock { // of a lock that was taken again: nobody is asked
				e.Step = c.step
			}
		case history.OpLock: // what it says of a grant before its answer, which may be long in coming
			s.owner(e.Tenure).heard = e.At
			k := c.claim(e.Scope)
			k.tenure = e.Tenure
			c.putLast(k)
			s.own(e)
		case opQueue:
			k := c.claim(e.Scope)
			k.queued = e.Tenure
			c.putLast(k)
			s.known(e.Lane, e.Scope)
			o := s.owner(e.Tenure)
			o.client = e.Lane
			s.release(o)
		default:
			c.stands++
		}
	case history.KindLost:
		s.client(e.Lane).lost[e.Tenure] = true
	case history.KindPause, history.KindResume:
		s.client(e.Lane).moves++
		s.client(e.Lane).frozen = e
	}
	s.recorder.add(e)
}

func (s *state) invoked(c *clientState, e history.Event) {
	if e.Request != "" {
		q := s.request(e.Request)
		q.client, q.tenure, q.sent, q.place = e.Lane, e.Tenure, c.sends(e), len(s.requests)
		q.lost = q.sent && s.dead && !c.held
		if e.Op == history.OpChange {
			q.parts = len(e.Changes)
		}
		s.recorder.askedBy(e)
	}
	if isLock(e.Op) {
		s.asked(e)
		c.claim(e.Scope).asked++
	}
	if e.Op == history.OpUnlock {
		s.owner(e.Tenure).unlocks = e.At
		c.unlocks = c.sends(e)
		if k := c.claim(e.Scope); !k.queues && k.latest() == e.Tenure { // else it lets go of nothing, or of what it has no more
			c.putFirst(k)
		}
		c.asked[s.recorder.slot(e.Tenure)] = true
		if !c.cut {
			s.recorder.releasedBy(e)
		}
	}
}

// tells takes in that a client is told to do a step. What it has begun keeps the name that it
// was begun by, if the step by which it finishes has none.
func (s *state) tells(step scenario.Step) {
	for _, c := range s.clients {
		c.step, c.verb = "", ""
	}
	if step.Actor != step.Client {
		return
	}
	c := s.client(step.Client)
	c.step, c.verb = step.Name, step.Verb
	switch step.Verb {
	case scenario.Begin:
		c.begun = step.Name
	case scenario.Finish:
		c.step = cmp.Or(step.Name, c.begun)
	}
}

// isTold is the place of a request among those that it was told to send, -1 if it was not.
func (c *clientState) isTold(e history.Event) int {
	return slices.IndexFunc(c.sending, func(w history.Change) bool {
		return w == history.Change{} || w == history.Change{Key: e.Key, Value: e.Value}
	})
}

// sends reports whether a request is one that it was told to send.
func (c *clientState) sends(e history.Event) bool {
	i := c.isTold(e)
	if i >= 0 {
		c.sending = slices.Delete(c.sending, i, i+1)
	}
	return i >= 0
}

// answer takes in an answer and reports whether it is recorded already.
func (s *state) answer(e history.Event) (recorded bool) {
	c := s.client(e.Lane)
	k := new(claim)
	if isLock(e.Op) || e.Op == history.OpUnlock {
		k = c.claim(e.Scope)
	}
	q := s.requests[e.Request]
	if q != nil {
		q.answered = true
		q.known = e.Kind == history.KindOK || e.Reason != ""
	}
	switch {
	case q != nil && q.sent, q == nil && isRequest(e.Op) && len(c.sending) > 0: // or it has looked, and sends nothing
		if e.Kind != history.KindOK {
			c.sending = nil // the rest is not sent
		}
	case q != nil && q.pending: // its step is over
	case e.Op == history.OpUnlock && c.unlocks:
		c.unlocks = false
	case e.Op == history.OpLock && k.queues:
		if k.queues = false; e.Kind != history.KindOK {
			c.putFirst(k)
		}
	case e.Op == history.OpCount:
		c.counted++
	default:
		c.replies++
		c.reply = e
	}
	if e.Op == history.OpUnlock && e.Kind == history.KindOK && e.Tenure == k.queued {
		k.queued = ""
	}
	if isLock(e.Op) {
		s.toldOf(e)
	}
	if !isLock(e.Op) || e.Kind != history.KindOK {
		return false
	}
	if k.tenure = e.Tenure; s.owner(e.Tenure).client != e.Lane { // else it came last when it queued
		c.putLast(k)
	}
	delete(c.asked, s.recorder.slot(e.Tenure))
	s.recorder.add(e)
	s.own(e)
	return true
}

// opQueue is that of a note by which a client says that it waits for a lock, where the
// lock service does not tell of it.
const opQueue = "queue"

// isLock reports whether an operation is one by which a client asks for a lock.
func isLock(op string) bool { return op == history.OpLock || op == history.OpTryLock }

// isRequest reports whether an operation is one that the storage is asked for.
func isRequest(op string) bool {
	return slices.Contains([]string{history.OpRead, history.OpWrite, history.OpDelete, history.OpChange}, op)
}

// own is told by a client that it was granted a tenure.
func (s *state) own(e history.Event) {
	o := s.owner(e.Tenure)
	o.client, o.told = e.Lane, e.At
	if o.heard != 0 {
		o.told = o.heard
	}
	s.recorder.grantedBefore(o.told, e.Tenure)
	s.release(o)
	for _, k := range s.kin(e.Tenure) {
		if k.client == "" && len(k.held) > 0 {
			k.client, k.told, k.untold = e.Lane, k.held[0].At+1, true
			s.release(k)
		}
	}
}

// kin are the tenures in the slot of one, where the slot has the name of a tenure: they
// are one client's. It is told of one of them. Before that it may have had the lock for a
// moment, and given it back without knowing; after that it may have taken the lock again
// by its own renewal. What comes when it has let go of them all is nobody's.
func (s *state) kin(tenure string) (list []*owner) {
	slot := s.recorder.slot(tenure)
	if s.owners[slot] == nil {
		return nil
	}
	for name, o := range s.owners {
		if s.recorder.slot(name) == slot {
			list = append(list, o)
		}
	}
	return list
}

// nameOf is the lock service's name of an event's tenure. A client names all kin alike, and
// means the one that it was told of: the latest at that time.
func (s *state) nameOf(e history.Event) string {
	switch e.Kind {
	case history.KindGranted, history.KindEnded, history.KindQueued:
		return e.Tenure
	case history.KindOK, history.KindNote:
		if s.names[e.Tenure] == "" && isLock(e.Op) {
			s.names[e.Tenure] = s.latest[e.Tenure]
		}
	}
	return cmp.Or(s.names[e.Tenure], e.Tenure)
}

// release takes in what was held back.
func (s *state) release(o *owner) {
	held := o.held
	o.held = nil
	for _, h := range held {
		s.tenure(h)
	}
}

// waits says that a client stands in the queue: its place is the one that was
// taken since a revision, and that no client has told of yet. It reports whether
// there is one.
func (s *state) waits(client, lock string, since fence.Token) bool {
	for tenure, o := range s.owners {
		if o.client != "" || o.scope != lock || o.ended || o.token <= since {
			continue
		}
		o.client = client
		s.known(client, lock)
		c := s.client(client)
		k := c.claim(lock)
		k.queued = tenure
		c.putLast(k)
		s.release(o)
		return true
	}
	return false
}

// tenure is told by the observer that one was queued for, began or ended. The observer does
// not know the client. Where nobody else does, its word is waited for.
func (s *state) tenure(e history.Event) {
	o := s.owner(e.Tenure)
	switch e.Kind {
	case history.KindEnded:
		if o.ended { // before the service was restored, and now once more
			return
		}
		o.ended = true
		if !o.granted { // it was a place in the queue
			return
		}
	case history.KindGranted:
		o.granted, o.ended = true, false
		s.latest[s.recorder.slot(e.Tenure)] = e.Tenure
		for _, k := range s.kin(e.Tenure) {
			if o.client == "" && k.told != 0 && !s.client(k.client).asked[s.recorder.slot(e.Tenure)] {
				o.client, o.told = k.client, e.At+1
			}
		}
	}
	if o.client == "" {
		o.held = append(o.held, e)
		return
	}
	e.Client = o.client
	c := s.client(o.client)
	switch {
	case e.Kind == history.KindQueued:
	case e.Kind == history.KindGranted:
		if o.told != 0 { // it happened before that, though the observer may have been told later
			e.At = min(e.At, o.told-1)
		}
	case o.revoked:
		e.Cause = history.CauseRevoked
	case c.asked[s.recorder.slot(e.Tenure)] && !c.cut, o.untold && e.Cause == history.CauseRevoked, o.left && c.goes():
		e.Cause = history.CauseReleased
	case e.Cause == history.CauseRevoked: // by the lock service's own word
	default:
		e.Cause = history.CauseExpired
		if c.stopped() {
			e.Took = e.At - c.frozen.At
		}
	}
	if e.Cause == history.CauseReleased {
		e.Text = "" // it says what else would have been
	}
	s.recorder.add(e)
}

// told reports whether the account that an answer speaks of has spoken too.
func (s *state) told(reply history.Event) bool {
	switch {
	case reply.Request != "" && (reply.Kind == history.KindOK || reply.Reason != ""):
		return s.request(reply.Request).over()
	case reply.Request != "" || reply.Kind != history.KindOK:
		return true
	case reply.Op == history.OpUnlock && !s.committed(reply.Tenure):
		return false
	case reply.Op == history.OpUnlock:
		return s.owner(reply.Tenure).ended && !slices.ContainsFunc(s.kin(reply.Tenure), func(o *owner) bool { return o.client != "" && !o.ended })
	case isLock(reply.Op):
		return s.owner(reply.Tenure).granted
	}
	return true
}

// committed reports whether the storage has told of all that a tenure's transaction has done.
func (s *state) committed(tenure string) bool {
	for _, q := range s.requests {
		if q.pending && q.tenure == tenure && q.known && !q.over() {
			return false
		}
	}
	return true
}

// sentBy are the requests that a client sent and that nobody waited for.
func (s *state) sentBy(client string) (list []*request) {
	for _, q := range s.requests {
		if q.client == client && q.sent {
			list = append(list, q)
		}
	}
	return list
}

// askedBy is how many requests a client has asked the storage for.
func (s *state) askedBy(client string) (n int) {
	for _, q := range s.requests {
		if q.client == client {
			n++
		}
	}
	return n
}

// restarted has a client be a new process: what the killed one waited for nobody
// waits for, and what belongs to the lock service and to the network stays.
func (s *state) restarted(client string) {
	for _, q := range s.sentBy(client) {
		q.answered = true
	}
	for _, a := range s.asks {
		if a.client == client {
			a.answer = history.KindUnknown
		}
	}
	c := s.client(client)
	for i, k := range c.claims {
		c.claims[i] = &claim{lock: k.lock, tenure: k.latest()}
	}
	*c = clientState{
		claims: c.claims, asked: c.asked, lost: c.lost,
		cut: c.cut, held: c.held, deaf: c.deaf,
	}
}

// underWay are those of them that are on their way to the storage, in the order in
// which they were sent.
func (s *state) underWay(client string) []*request {
	list := slices.DeleteFunc(s.sentBy(client), (*request).over)
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.place, b.place) })
	return list
}

// arrived reports whether the storage has told of all that a client was to send.
func (s *state) arrived(client string) bool {
	return len(s.client(client).sending) == 0 && len(s.underWay(client)) == 0
}

// stopped reports whether its process does not run.
func (c *clientState) stopped() bool {
	return c.frozen.Kind == history.KindPause || c.frozen.Kind == history.KindKill
}

// goes reports whether it runs, and what it asks of the lock service arrives.
func (c *clientState) goes() bool { return !c.stopped() && !c.cut }

// unreachable reports whether no answer of the storage comes to a client.
func (c *clientState) unreachable() bool {
	return c.deaf || c.stopped()
}

// accounted reports whether the accounts of the lock service and of the storage, which may
// be slower than the clients, have all that clients were told of.
func (s *state) accounted() bool {
	for _, o := range s.owners {
		if o.told != 0 && !o.granted && !o.ended {
			return false
		}
	}
	for _, q := range s.requests {
		if q.known && !q.over() {
			return false
		}
	}
	return true
}

// settled reports whether a client knows what came of all that it sent and that the
// storage has told of, or cannot know it.
func (s *state) settled(client string) bool {
	return s.client(client).unreachable() || !slices.ContainsFunc(s.sentBy(client), func(q *request) bool { return q.over() && !q.answered })
}

// storageDied has what was on its way to the storage be lost, but for what waits in
// the network: that comes to the next one.
func (s *state) storageDied() {
	s.dead = true
	for client, c := range s.clients {
		for _, q := range s.underWay(client) {
			q.lost = !c.held
		}
	}
}

// answered reports whether a client knows the outcome of all that it sent, or has
// given up on it.
func (s *state) answered(client string) bool {
	return !slices.ContainsFunc(s.sentBy(client), func(q *request) bool { return !q.answered })
}

// holder is the client that holds a lock; "" where none does.
func (s *state) holder(lock string) string {
	for _, o := range s.owners {
		if o.scope == lock && o.granted && !o.ended {
			return o.client
		}
	}
	return ""
}

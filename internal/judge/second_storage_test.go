package judge_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// askStorage is a request of a client, or a change that it makes one key after the other.
func (w *secondWorld) askStorage() {
	c := w.client()
	t := w.tenureFor(c)
	if w.careful && (t == nil || len(c.tenures) == 0) {
		return
	}
	key := w.key()
	if t == nil && len(c.tenures) > 0 { // it has given back what it had
		w.tell(c.name, "invoke", secondFields{"op": "unlock"})
	}
	if w.careful { // each lock guards keys of its own
		key = map[string][]string{"/a": {"k1", "k2"}, "/b": {"k3", "k3"}}[t.lock][w.IntN(2)]
	}
	ask := secondFields{"op": "write", "key": key, "value": w.value(), "scope": w.scope(t, key)}
	if t != nil {
		ask["tenure"] = t.name
	}
	keys := append(slices.Clone(secondKeys), secondKeys...)[w.IntN(3):][:2+w.IntN(2)]
	if w.careful {
		keys = []string{"k1", "k2"}
	}
	whole := []any{}
	for _, k := range keys {
		whole = append(whole, map[string]any{"key": k, "value": w.value()})
	}
	n := w.IntN(20)
	if t != nil && t.shared && (w.timid || w.chance(0.6)) {
		n = 13 // a read
	}
	switch {
	case n < 9:
	case n < 10:
		ask["op"] = "delete"
		delete(ask, "value")
	case n < 14:
		ask["op"] = "read"
		delete(ask, "value")
	case n < 18 && (!w.careful || t.lock == "/a"):
		ask["op"], ask["changes"] = "change", whole
		if ask["scope"] == key {
			ask["scope"] = whole[0].(map[string]any)["key"]
		}
		delete(ask, "key")
		delete(ask, "value")
	case w.version == 2 && (!w.careful || t.lock == "/a"):
		w.changeSingly(c, t, ask, whole)
		return
	}
	w.show(c, t, ask)
	w.send(ask, "")
}

// collide is two clients, or one, that change a key in turn: perhaps under two locks,
// perhaps the one while the tenure of the other has come after.
func (w *secondWorld) collide() {
	c, d, key := w.client(), w.client(), w.key()
	t := w.tenureFor(c)
	if w.timid || t == nil {
		return
	}
	w.write(c, t, key)
	other := secondLocks[0]
	if t.lock == other {
		other = secondLocks[1]
	}
	switch holder := w.locks[other].holder(); {
	case w.chance(0.4):
		w.end(t)
		w.askLockOf(d, t.lock)
	case holder != nil:
		d = w.clients[holder.client]
	default:
		w.askLockOf(d, other)
	}
	if u := w.tenureFor(d); u != nil {
		w.use(d, u, key)
		w.use(c, t, key)
	}
}

// use is a write, or, where locks are shared, perhaps a read.
func (w *secondWorld) use(c *secondClient, t *secondTenure, key string) {
	if w.sharing == 0 || w.chance(0.6) {
		w.write(c, t, key)
		return
	}
	ask := secondFields{"op": "read", "key": key, "scope": t.lock, "tenure": t.name}
	w.show(c, t, ask)
	w.send(ask, "")
}

func (w *secondWorld) write(c *secondClient, t *secondTenure, key string) {
	ask := secondFields{"op": "write", "key": key, "value": w.value(), "scope": t.lock, "tenure": t.name}
	w.show(c, t, ask)
	w.send(ask, "")
}

// tenureFor is the tenure of which a client thinks that it holds the lock.
func (w *secondWorld) tenureFor(c *secondClient) *secondTenure {
	if len(c.tenures) == 0 || !w.careful && w.chance(0.1) {
		return nil
	}
	t := c.tenures[len(c.tenures)-1]
	if w.chance(0.35) {
		t = c.tenures[w.IntN(len(c.tenures))]
	}
	if !t.told && w.careful {
		return nil
	}
	return t
}

// scope is the lock, or the key where the storage has a mark for each.
func (w *secondWorld) scope(t *secondTenure, key string) string {
	switch {
	case t == nil:
		return secondLocks[w.IntN(2)]
	case w.mishaps():
		return key
	}
	return t.lock
}

// show puts the token and the sequence into a request.
func (w *secondWorld) show(c *secondClient, t *secondTenure, ask secondFields) {
	token := int64(0)
	switch {
	case t != nil && t.told:
		token = t.shown
	case t != nil:
		token = t.token
	case c.entry == "max":
		token = math.MaxInt64
	}
	if t != nil {
		ask["mode"] = modeOf(t)
		if w.mishaps() {
			ask["mode"] = []string{"", "shared"}[w.IntN(2)]
		}
	}
	if ask["op"] == "read" && w.chance(0.3) && !(w.timid && ask["mode"] == "shared") {
		token = 0
	}
	ask["token"] = decimalOf(token)
	if c.numbered && t != nil && ask["op"] != "read" && ask["mode"] != "shared" {
		t.sequence++
		ask["sequence"] = t.sequence
	}
	ask["lane"], ask["n"] = c.name, token
}

// changeSingly is a change made one key after the other, perhaps not to its end.
func (w *secondWorld) changeSingly(c *secondClient, t *secondTenure, ask secondFields, whole []any) {
	first := ""
	for _, part := range whole {
		if first != "" && w.chance(0.15) {
			return
		}
		part := part.(map[string]any)
		ask := maps.Clone(ask)
		if ask["scope"] == ask["key"] {
			ask["scope"] = part["key"]
		}
		ask["key"], ask["value"], ask["changes"] = part["key"], part["value"], whole
		w.show(c, t, ask)
		if first == "" {
			first = fmt.Sprint("r", w.asked+1)
		}
		ask["part_of"] = first
		w.send(ask, "")
	}
}

// hurry is a client that asks for three changes of a key before it is told of one.
func (w *secondWorld) hurry() {
	c, key := w.client(), w.key()
	t := w.tenureFor(c)
	if w.timid || t == nil {
		return
	}
	for range 3 {
		ask := secondFields{"op": "write", "key": key, "value": w.value(), "scope": t.lock, "tenure": t.name}
		w.show(c, t, ask)
		w.pending = append(w.pending, w.ask(ask, ""))
	}
	for range 5 {
		w.goOn()
	}
}

// forget is a change of several keys, made twice. Nobody is told of it, but perhaps
// somebody reads it, and the storage starts again and may have lost a part of it.
func (w *secondWorld) forget() {
	c := w.client()
	t := w.tenureFor(c)
	if w.timid || t == nil {
		return
	}
	for _, value := range []string{"a", "b"} {
		whole := []any{}
		for _, key := range secondKeys {
			whole = append(whole, map[string]any{"key": key, "value": value})
		}
		ask := secondFields{"op": "change", "changes": whole, "scope": t.lock, "tenure": t.name}
		w.show(c, t, ask)
		w.handle(w.ask(ask, ""))
	}
	if w.chance(0.5) {
		ask := secondFields{"op": "read", "key": w.key(), "scope": t.lock, "tenure": t.name}
		w.show(c, t, ask)
		w.handle(w.ask(ask, ""))
	}
	w.restartStorage()
}

// ask tells that a request is asked.
func (w *secondWorld) ask(ask secondFields, retryOf string) *secondRequest {
	w.asked++
	ask = maps.Clone(ask)
	ask["request"] = fmt.Sprint("r", w.asked)
	r := &secondRequest{ask: ask, first: ask["request"].(string)}
	if retryOf != "" {
		r.first = retryOf
		if w.version == 2 {
			ask["retry_of"] = retryOf
		}
	}
	w.tellAsk(ask)
	return r
}

// send is a request that, mostly, the storage does at once.
func (w *secondWorld) send(ask secondFields, retryOf string) {
	r := w.ask(ask, retryOf)
	w.pending = append(w.pending, r)
	if w.timid || w.chance(0.6) {
		w.handle(r)
		w.answer(r)
	}
}

func (w *secondWorld) tellAsk(ask secondFields) {
	ask = maps.Clone(ask)
	lane := ask["lane"].(string)
	delete(ask, "n")
	w.tell(lane, "invoke", ask)
}

// goOn does what comes next with one of the requests that are under way.
func (w *secondWorld) goOn() {
	if len(w.pending) == 0 {
		return
	}
	r := w.pending[w.IntN(len(w.pending))]
	if r.did == "" && w.chance(0.9) {
		w.handle(r)
	}
	if w.chance(0.8) {
		w.answer(r)
	}
}

// handle is what the storage does with a request.
func (w *secondWorld) handle(r *secondRequest) {
	if r.did != "" || w.mishaps() {
		return
	}
	scope, token := r.ask["scope"].(string), r.ask["n"].(int64)
	sequence, _ := r.ask["sequence"].(int64)
	mark := w.storage.marks[scope]
	shared := r.ask["mode"] == "shared"
	refusing := max(mark[0], mark[2])
	if shared {
		refusing = mark[0]
	}
	r.did = "applied"
	switch {
	case w.silent && w.chance(0.3):
		r.did, r.done = "unanswered", r.ask["op"] != "read" && w.chance(0.7)
		if r.done && token >= mark[0] && !shared {
			w.storage.marks[scope] = [3]int64{token, sequence, mark[2]}
		}
	case w.fencing && token == 0 && r.ask["op"] != "read":
		r.did, r.reason = "refused", "missing"
	case w.fencing && token != 0 && (token < refusing || token == mark[0] && sequence != 0 && sequence < mark[1]):
		r.did, r.reason = "refused", "stale"
	case w.fencing && sequence != 0 && token == mark[0] && sequence == mark[1], sequence != 0 && (w.storage.done[r.first] || w.mishaps()) && w.chance(0.5):
		r.did = "duplicate"
	case w.timid && w.chance(w.trouble/3) || w.mishaps():
		r.did, r.reason = "refused", []string{"stale", "missing", "invalid", "ahead"}[w.IntN(4)]
	case token != 0 && shared:
		w.storage.marks[scope] = [3]int64{mark[0], mark[1], max(token, mark[2])}
		refusing = 0
	case token != 0:
		refusing = max(token, mark[0])
		w.storage.marks[scope] = [3]int64{refusing, sequence, mark[2]}
	}
	r.mark = decimalOf(refusing)
	for _, e := range r.events() {
		e["mark"], e["reason"], e["client"] = r.mark, r.reason, w.maybe(r.ask["lane"].(string))
		w.tellStored(r, e)
	}
	if r.did == "applied" {
		w.storage.done[r.first] = true
	}
}

// events are what the storage tells of a request: of a change an event for each key.
func (r *secondRequest) events() (events []secondFields) {
	e := secondFields{}
	for _, name := range []string{"op", "request", "key", "value", "scope", "token", "sequence", "mode"} {
		if v, ok := r.ask[name]; ok {
			e[name] = v
		}
	}
	if r.ask["op"] != "change" {
		return []secondFields{e}
	}
	for _, c := range r.ask["changes"].([]any) {
		one, c := maps.Clone(e), c.(map[string]any)
		one["op"], one["key"], one["value"] = "write", c["key"], c["value"]
		events = append(events, one)
	}
	return events
}

// tellStored tells of one key what became of a request, and stores it.
func (w *secondWorld) tellStored(r *secondRequest, e secondFields) {
	if r.did == "duplicate" && w.version == 1 {
		return
	}
	key := e["key"].(string)
	if r.did == "applied" || r.done {
		switch e["op"] {
		case "read":
			e["value"], e["missing"] = w.storage.find(w, key)
			r.value, r.missing = e["value"].(string), e["missing"].(bool)
		case "delete":
			w.storage.keys[key] = append(w.storage.keys[key], &secondStored{missing: true, request: r.first})
		default:
			if w.chance(0.02) && w.mishaps() {
				return // one key of a change is forgotten
			}
			w.storage.keys[key] = append(w.storage.keys[key], &secondStored{value: e["value"].(string), request: r.first})
		}
	}
	if w.indexed {
		w.storage.index++
		e["index"] = w.storage.index
	}
	w.tell("storage", r.did, e)
}

// find is what a key holds, and that it is known.
func (s *secondStorage) find(w *secondWorld, key string) (value string, missing bool) {
	stored := s.keys[key]
	switch {
	case w.chance(0.5) && w.mishaps():
		return w.value(), false
	case len(stored) == 0:
		return "", true
	}
	last := stored[len(stored)-1]
	last.known = true
	return last.value, last.missing
}

// answer is what a client is told of its request.
func (w *secondWorld) answer(r *secondRequest) {
	w.pending = slices.DeleteFunc(w.pending, func(o *secondRequest) bool { return o == r })
	told := maps.Clone(r.ask)
	lane := told["lane"].(string)
	for _, name := range []string{"n", "retry_of", "part_of", "changes"} {
		delete(told, name)
	}
	kind := "ok"
	switch {
	case r.did == "" || r.did == "unanswered" && w.chance(0.9) || w.chance(0.15):
		kind = "unknown"
	case r.did == "refused":
		kind, told["reason"], told["mark"] = "fail", r.reason, w.maybe(r.mark)
	case r.ask["op"] != "read" && w.chance(0.3) && w.mishaps():
		kind = "fail"
	case w.chance(0.05):
		return
	}
	if kind == "ok" {
		w.storage.acknowledge(r.first)
		if r.ask["op"] == "read" {
			told["value"], told["missing"] = r.value, r.missing
		}
	}
	if kind == "unknown" && r.attempts < 2 {
		w.unknown = append(w.unknown, r)
	}
	w.tell(lane, kind, told)
}

func (s *secondStorage) acknowledge(request string) {
	for _, stored := range s.keys {
		for _, one := range stored {
			one.known = one.known || one.request == request
		}
	}
}

// retry asks once more for what is unknown.
func (w *secondWorld) retry() {
	if len(w.unknown) == 0 {
		return
	}
	i := w.IntN(len(w.unknown))
	r := w.unknown[i]
	r.attempts++
	ask := maps.Clone(r.ask)
	delete(ask, "retry_of")
	w.send(ask, r.first)
	if w.version == 1 && !w.timid { // the same once more may be another request
		other := maps.Clone(ask)
		other["value"] = "c"
		w.send(other, "")
		w.send(ask, "")
	}
}

// restartStorage kills the storage and starts it again. What nobody knows may be
// gone, and by a mishap what is known.
func (w *secondWorld) restartStorage() {
	if w.chance(0.8) {
		w.tell("storage", "kill", nil)
	}
	w.tell("storage", "restart", nil)
	w.storage.index = 0
	for _, key := range secondKeys {
		lose := w.chance(0.6)
		stored := w.storage.keys[key]
		for lose && len(stored) > 0 && (!stored[len(stored)-1].known || !w.timid && w.chance(0.5)) {
			stored = stored[:len(stored)-1]
		}
		w.storage.keys[key] = stored
	}
	if w.chance(0.2) && !w.timid {
		clear(w.storage.marks)
	}
}

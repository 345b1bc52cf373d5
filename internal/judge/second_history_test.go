package judge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// secondFields is a line of a history, as JSON has it.
type secondFields map[string]any

// secondWorld is a small world that leaves a history: clients, locks and a storage
// which, by chance, keep the rules or do not. It draws from a seed, and not from
// rapid, of which a draw costs more than a whole history.
type secondWorld struct {
	*rand.Rand
	lines []secondFields
	at    int64

	version int
	// How the world is: how careful clients are, whether the storage checks tokens,
	// whether it tells places in its order, whether it leaves requests without an answer,
	// and how often what should not be is.
	careful, fencing, indexed, silent, timid bool
	unlocked                                 bool
	sharing                                  float64 // how often a tenure is a shared one
	mishap, trouble                          float64

	clients  map[string]*secondClient
	names    []string
	revision int64
	locks    map[string]*secondLock
	tenures  []*secondTenure
	storage  secondStorage
	pending  []*secondRequest
	unknown  []*secondRequest
	asked    int
}

type secondClient struct {
	name, entry string // which number it shows as its token
	owner       string // whose session it uses
	numbered    bool
	asks        bool            // it has asked for a lock
	tenures     []*secondTenure // of which it was told, or for which it waits
}

type secondTenure struct {
	name, client, lock string
	token, shown       int64
	told, over, shared bool
	sequence           int64
}

type secondLock struct {
	holders []*secondTenure
	queue   []*secondTenure
}

// holder is who got the lock last; nil where nobody has it.
func (l *secondLock) holder() *secondTenure {
	if len(l.holders) == 0 {
		return nil
	}
	return l.holders[len(l.holders)-1]
}

// takes says whether the lock can be had beside those who have it.
func (l *secondLock) takes(t *secondTenure) bool {
	return !slices.ContainsFunc(l.holders, func(h *secondTenure) bool { return !t.shared || !h.shared })
}

type secondRequest struct {
	ask      secondFields
	first    string // request of the first attempt
	did      string // what the storage tells: applied, refused, duplicate or unanswered
	done     bool   // though it does not tell
	reason   string
	mark     string
	attempts int
	value    string // that a read found
	missing  bool
}

// secondStorage holds, for each key, what was changed, the latest last.
type secondStorage struct {
	index int64
	marks map[string][3]int64 // token, sequence and shared token
	keys  map[string][]*secondStored
	done  map[string]bool // first attempts of what was applied
}

type secondStored struct {
	value   string
	missing bool
	request string // of the first attempt
	known   bool   // somebody was told of it
}

var secondKeys = []string{"k1", "k2", "k3"}

// secondLocks are the locks, one of which is a key, too.
var secondLocks = []string{"/a", "/b"}

func newSecondWorld(seed uint64, steps int) *secondWorld {
	w := &secondWorld{Rand: rand.New(rand.NewPCG(seed, seed))}
	w.version = 1 + min(1, w.IntN(7))
	w.timid, w.fencing, w.indexed = w.chance(0.55), w.chance(0.35), w.chance(0.9)
	w.careful = w.timid || w.chance(0.3)
	w.mishap = []float64{0.05, 0.15, 0.25}[w.IntN(3)]
	if w.timid {
		w.fencing, w.mishap = true, 0
	}
	w.sharing = []float64{0, 0, 0.4, 0.7}[w.IntN(4)]
	w.trouble = []float64{0, 0.6, 0.8}[w.IntN(3)]
	w.silent = w.chance(0.25)
	w.unlocked = !w.careful && w.chance(0.1)
	w.clients, w.locks = make(map[string]*secondClient), make(map[string]*secondLock)
	w.storage = secondStorage{marks: make(map[string][3]int64), keys: make(map[string][]*secondStored), done: make(map[string]bool)}
	for _, lock := range secondLocks {
		w.locks[lock] = &secondLock{}
	}
	tokens := make(map[string]string)
	for i := range 1 + w.IntN(4) {
		c := &secondClient{name: fmt.Sprint("c", i+1), entry: "revision", numbered: w.chance(0.4)}
		if !w.timid && w.chance(0.2) {
			c.entry = []string{"max", "header", "lease"}[w.IntN(3)]
		}
		if c.owner = c.name; i > 0 && w.chance(0.5) {
			c.owner = w.clients[w.names[w.IntN(i)]].owner
		}
		w.names = append(w.names, c.name)
		w.clients[c.name], tokens[c.name] = c, c.entry
	}
	run := w.promises()
	if sessions := w.sessions(); len(sessions) > 0 {
		run["sessions"] = sessions
	}
	if w.unlocked {
		run["unlocked"] = true
	}
	if w.version == 2 {
		run["version"], run["tokens"] = 2, tokens
	}
	if sets := [][][]string{nil, nil, nil, nil, nil, {{"k1", "k2"}}, {{"k1", "k2", "k3"}}, {{"k1", "k2"}, {"k2", "k3"}}}[w.IntN(8)]; sets != nil {
		run["together"] = sets
	}
	w.tell("gcsim", "run", secondFields{"run": run})
	for range steps {
		if len(w.lines) < 45 {
			w.step()
		}
	}
	w.finish()
	return w
}

func (w *secondWorld) chance(p float64) bool { return w.Float64() < p }

// maybe is a text that is left out half the time.
func (w *secondWorld) maybe(text string) string {
	if w.chance(0.5) {
		return ""
	}
	return text
}

// mishaps says whether what should not be is.
func (w *secondWorld) mishaps() bool { return w.chance(w.mishap) }

func (w *secondWorld) client() *secondClient { return w.clients[w.names[w.IntN(len(w.names))]] }

func (w *secondWorld) key() string { return secondKeys[w.IntN(len(secondKeys))] }

func (w *secondWorld) value() string { return []string{"a", "b"}[w.IntN(2)] }

// tell adds a line, in which fields that are empty are left out.
func (w *secondWorld) tell(lane, kind string, more secondFields) {
	w.at += int64(w.IntN(3))
	line := secondFields{"at": w.at, "lane": lane, "kind": kind}
	for name, v := range more {
		if v != "" && v != int64(0) && v != false && name != "kind" && name != "lane" && name != "at" {
			line[name] = v
		}
	}
	w.lines = append(w.lines, line)
}

func decimalOf(token int64) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatInt(token, 10)
}

// sessions are those of clients that use another's.
func (w *secondWorld) sessions() map[string]string {
	sessions := make(map[string]string)
	for name, c := range w.clients {
		if c.owner != name {
			sessions[name] = c.owner
		}
	}
	return sessions
}

func (w *secondWorld) step() {
	if w.unlocked {
		[]func(){w.askStorage, w.askStorage, w.goOn, w.retry, w.restartStorage, w.lookInVain, w.disturbOrder}[w.IntN(7)]()
		return
	}
	switch n := w.IntN(100); {
	case n < 18:
		w.askLock()
	case n < 20:
		w.cross()
	case n < 28:
		w.endTenure()
	case n < 58:
		w.askStorage()
	case n < 66:
		w.goOn()
	case n < 68:
		w.retry()
	case n < 71:
		w.waitLong()
	case n < 75:
		w.restartStorage()
	case n < 86:
		w.collide()
	case n < 88:
		w.hurry()
	case n < 92:
		w.forget()
	case n < 93:
		w.disturb()
		w.starve()
	case n < 94:
		w.lookInVain()
	case n < 96:
		w.queueUp()
	case n < 97 && !w.timid:
		w.giveUp()
	default:
		w.disturbOrder()
	}
}

// askLock is a lock or trylock, and what comes of it.
func (w *secondWorld) askLock() {
	c, name, op := w.client(), secondLocks[w.IntN(2)], []string{"lock", "trylock"}[w.IntN(2)]
	if w.careful {
		name = secondLocks[min(1, w.IntN(5)/4)]
	}
	lock, ask := w.locks[name], secondFields{"op": op, "scope": name}
	w.tell(c.name, "invoke", ask)
	c.asks = true
	denied := w.chance(w.trouble)
	switch {
	case denied || op == "trylock" && lock.holder() != nil && !w.mishaps():
		if lock.holder() == nil && w.chance(0.2) {
			w.askLockOf(w.client(), name) // somebody else comes meanwhile
		}
		if ask["reason"] = ""; w.chance(0.3) {
			ask["reason"] = []string{"held", "expired"}[w.IntN(2)]
		}
		if w.chance(0.15) && lock.holder() != nil && !w.timid {
			w.end(lock.holder())
		}
		w.pass()
		w.tell(c.name, []string{"fail", "unknown"}[w.IntN(2)], ask)
	default:
		w.askLockOf(c, name)
	}
}

// askLockOf gives a client the lock, or a place in its queue.
func (w *secondWorld) askLockOf(c *secondClient, name string) {
	lock := w.locks[name]
	if !c.asks {
		w.tell(c.name, "invoke", secondFields{"op": "lock", "scope": name})
		c.asks = true
	}
	if w.revision++; w.mishaps() {
		w.revision = max(1, w.revision-2)
	}
	t := &secondTenure{name: fmt.Sprint(name, "@", len(w.tenures)+1), client: c.name, lock: name, token: w.revision, shared: w.chance(w.sharing)}
	w.tenures = append(w.tenures, t)
	switch t.shown = t.token; c.entry {
	case "max":
		t.shown = math.MaxInt64
	case "header":
		t.shown += int64(w.IntN(3))
	case "lease":
		t.shown = 1 + w.Int64N(9)
	}
	if free := lock.takes(t) && len(lock.queue) == 0; !free && lock.holder() != nil && !w.mishaps() {
		w.tell("etcd", "queued", t.fields())
		lock.queue, c.tenures = append(lock.queue, t), append(c.tenures, t)
		return
	}
	w.grant(t)
}

func (t *secondTenure) fields() secondFields {
	return secondFields{"tenure": t.name, "client": t.client, "scope": t.lock, "token": decimalOf(t.token), "mode": modeOf(t)}
}

func modeOf(t *secondTenure) string {
	if t.shared {
		return "shared"
	}
	return ""
}

func (w *secondWorld) grant(t *secondTenure) {
	w.locks[t.lock].holders = append(w.locks[t.lock].holders, t)
	w.tell("etcd", "granted", t.fields())
	c := w.clients[t.client]
	told, often := w.chance(0.95), 0.45
	if !w.timid && slices.Contains(c.tenures, t) && w.chance(0.4) { // it was in the queue, and works without being told
		told, often = false, 0.9
		w.write(c, t, w.key())
	}
	if told {
		w.tellOfLock(c, t)
	}
	if w.mishaps() || !w.timid && w.chance(often) { // a client that shares the session is told of it, too
		other := w.client()
		if shares := other.owner == c.owner; !shares && w.chance(0.8) {
			return
		} else if !shares && told { // or it is judged that both work in it
			w.write(c, t, w.key())
		}
		w.tellOfLock(other, t)
		if !told || other.owner != c.owner {
			w.write(other, other.tenures[len(other.tenures)-1], w.key())
		}
	}
}

func (w *secondWorld) tellOfLock(c *secondClient, t *secondTenure) {
	shown := t.token
	switch {
	case c.name == t.client:
		shown = t.shown
		if t.told = true; !slices.Contains(c.tenures, t) {
			c.tenures = append(c.tenures, t)
		}
	case c.entry == "max":
		shown = math.MaxInt64
	}
	if c.name != t.client {
		c.tenures = append(c.tenures, &secondTenure{name: t.name, client: t.client, lock: t.lock, token: t.token, shown: shown, told: true, shared: t.shared})
	}
	w.tell(c.name, "ok", secondFields{"op": "lock", "scope": t.lock, "tenure": t.name, "token": decimalOf(shown), "mode": w.maybe(modeOf(t))})
}

func (w *secondWorld) endTenure() {
	if len(w.tenures) > 0 {
		w.end(w.tenures[w.IntN(len(w.tenures))])
	}
}

// end ends a tenure that has begun; mostly the next one in the queue begins.
func (w *secondWorld) end(t *secondTenure) {
	lock := w.locks[t.lock]
	if t.over || slices.Contains(lock.queue, t) {
		return
	}
	t.over = true
	w.tell("etcd", "ended", secondFields{
		"tenure": t.name, "client": w.maybe(t.client), "scope": w.maybe(t.lock), "cause": []string{"expired", "expired", "expired", "released"}[w.IntN(4)], "token": w.maybe(decimalOf(t.token)), "mode": w.maybe(modeOf(t)),
	})
	lock.holders = slices.DeleteFunc(lock.holders, func(h *secondTenure) bool { return h == t })
	if slices.Contains(w.clients[t.client].tenures, t) && w.chance(0.3) {
		w.tell(t.client, "lost", secondFields{"tenure": t.name, "scope": w.maybe(t.lock), "token": w.maybe(decimalOf(t.token)), "client": w.maybe(t.client)})
	}
	for len(lock.queue) > 0 && lock.takes(lock.queue[0]) && w.chance(0.8) {
		at := 0
		if w.chance(0.25) {
			at = w.IntN(len(lock.queue))
		}
		next := lock.queue[at]
		lock.queue = slices.Delete(lock.queue, at, at+1)
		w.grant(next)
	}
}

// lookInVain is a client that sees that it holds no lock, and sends nothing.
func (w *secondWorld) lookInVain() {
	c, key := w.client(), w.key()
	w.tell(c.name, "invoke", secondFields{"op": "write", "key": key, "value": "a"})
	w.tell(c.name, "fail", secondFields{"op": "write", "key": key, "value": "a", "reason": "lost"})
}

// disturbOrder lets two lines that stand one after the other change their places:
// two of the storage, or a question and its answer.
func (w *secondWorld) disturbOrder() {
	for i := len(w.lines) - 1; i > 1; i-- {
		a, b := w.lines[i-1], w.lines[i]
		stored := a["lane"] == "storage" && b["lane"] == "storage" && a["index"] != nil && b["index"] != nil
		asked := a["kind"] == "invoke" && a["request"] != nil || b["kind"] == "ok" && b["request"] != nil
		if stored || asked && a["lane"] != "etcd" && b["lane"] != "etcd" {
			a["at"], b["at"] = b["at"], a["at"]
			w.lines[i-1], w.lines[i] = b, a
			if stored && !w.timid && w.chance(0.5) { // the storage did them in this order
				a["index"], b["index"] = b["index"], a["index"]
			}
			return
		}
	}
}

// finish lets what is under way be answered, and tells what keys hold.
func (w *secondWorld) finish() {
	for w.chance(0.8) && len(w.pending) > 0 {
		w.goOn()
	}
	for _, key := range secondKeys {
		value, missing := w.storage.find(w, key)
		w.tell("storage", "final", secondFields{"key": key, "value": value, "missing": missing})
	}
	if w.version == 2 {
		lane := "gcsim"
		if w.at%8 == 0 { // an end in another lane is one as well
			lane = w.names[0]
		}
		w.tell(lane, "end", nil)
	}
}

// jsonl is the history's lines.
func (w *secondWorld) jsonl() []byte {
	var lines []byte
	for _, line := range w.lines {
		text, err := json.Marshal(line)
		if err != nil {
			panic(err)
		}
		lines = append(append(lines, text...), '\n')
	}
	return lines
}

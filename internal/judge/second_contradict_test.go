package judge_test

import (
	"fmt"
	"slices"
)

// wrongLane has somebody tell what is another's to tell.
func (w *secondWorld) wrongLane() {
	run := w.lines[0]["run"].(secondFields)
	name := []string{"storage", "gcsim", "etcd", "redis"}[w.IntN(4)]
	clients := ofKind("invoke", "ok", "fail", "unknown", "lost")
	switch w.IntN(7) {
	case 0:
		run["service"] = name
	case 1:
		if tokens, ok := run["tokens"].(map[string]string); ok {
			tokens[name] = "none"
		}
	case 2:
		if bounds, ok := run["bounds"].(map[string]int64); ok {
			bounds[name] = 1
		}
	case 3:
		w.set(clients, "lane", name)
	case 4:
		w.set(ofKind("granted", "queued"), "client", name)
	case 5:
		w.set(ofKind("granted", "queued", "ended"), "lane", name)
	default:
		kinds := ofKind("pause", "resume", "kill", "restart", "network", "note", "invoke", "ok", "lost")
		w.set(kinds, "client", w.client().name)
	}
}

// wrongAccount takes an account away, or says that there was none to give.
func (w *secondWorld) wrongAccount() {
	run := w.lines[0]["run"].(secondFields)
	ofClients := func(line secondFields) bool { return slices.Contains(w.names, line["lane"].(string)) }
	onLock := func(line secondFields) bool { return line["op"] == "lock" || line["op"] == "trylock" }
	ofLock := func(line secondFields) bool {
		return line["lane"] == "etcd" || line["kind"] == "lost" || onLock(line) || line["op"] == "unlock"
	}
	switch w.IntN(8) {
	case 0:
		w.dropAll(ofClients)
	case 1:
		w.dropAll(func(line secondFields) bool { return line["lane"] == "storage" })
	case 2, 3:
		w.dropAll(ofLock)
		for _, line := range w.lines {
			delete(line, "tenure")
		}
	case 4:
		w.dropAll(func(line secondFields) bool { return ofClients(line) && onLock(line) })
	case 5:
		w.dropAll(func(line secondFields) bool { return line["kind"] == "invoke" })
	case 6:
		delete(run, "unlocked")
	default:
		run["unlocked"] = true
	}
}

func (w *secondWorld) dropAll(yes func(secondFields) bool) {
	w.lines = append(w.lines[:1], slices.DeleteFunc(w.lines[1:], yes)...)
}

// wrongFinal tells what a key holds at the end once more, or too early.
func (w *secondWorld) wrongFinal() {
	changes := func(line secondFields) bool { return line["kind"] == "applied" }
	line, at := w.pick(ofKind("final"))
	if line == nil {
		return
	}
	if w.chance(0.4) {
		w.repeat(line, at, nil)
		return
	}
	if _, early := w.pick(changes); early > 0 {
		line["at"] = w.lines[early]["at"]
		w.lines = slices.Insert(slices.Delete(w.lines, at, at+1), early, line)
	}
}

// wrongFact makes that one of the accounts that share a fact of a tenure says another one.
func (w *secondWorld) wrongFact() {
	toldOfLock := func(line secondFields) bool { return line["kind"] == "ok" && line["op"] == "lock" }
	ofService := ofKind("granted", "queued", "ended")
	switch w.IntN(11) {
	case 0:
		w.set(ofService, "client", w.client().name)
	case 1:
		w.set(ofService, "scope", secondLocks[w.IntN(2)])
	case 2:
		w.set(ofService, "token", []any{nil, fmt.Sprint(1 + w.IntN(9))}[w.IntN(2)])
	case 3:
		w.set(ofService, "mode", []any{nil, "shared"}[w.IntN(2)])
	case 4:
		w.set(toldOfLock, "mode", "shared")
	case 5:
		w.set(toldOfLock, "lane", w.client().name)
	case 6:
		w.set(ofKind("lost"), "scope", []string{"/a", "/c"}[w.IntN(2)])
	case 7:
		w.set(ofKind("lost"), "token", fmt.Sprint(1+w.IntN(9)))
	case 8, 9:
		scope := []any{nil, "/a", "/b", "k1", "k2"}[w.IntN(5)]
		w.set(with("tenure", ofKind("invoke", "ok", "fail", "unknown")), "scope", scope)
	default:
		for range 3 {
			w.set(with("request", ofKind("invoke")), "tenure", nil)
		}
		if w.chance(0.3) {
			w.set(with("request", ofKind("invoke")), "scope", nil)
		}
	}
}

// wrongAnswer makes that a client was told something else than it asked for, or than the
// storage tells.
func (w *secondWorld) wrongAnswer() {
	answers := with("request", ofKind("ok", "fail", "unknown"))
	did := ofKind("applied", "refused", "duplicate", "unanswered")
	found := func(line secondFields) bool { return line["kind"] == "ok" && line["op"] == "read" }
	refused := func(line secondFields) bool { return line["kind"] == "fail" && line["reason"] != nil }
	reason := []string{"stale", "missing", "invalid", "ahead", "lost"}[w.IntN(5)]
	other := map[string]any{
		"key": w.key(), "value": w.value(), "tenure": "/a@1", "scope": secondLocks[w.IntN(2)], "token": fmt.Sprint(1 + w.IntN(9)), "sequence": int64(1 + w.IntN(3)),
		"mode": "shared", "retry_of": "r1", "part_of": "r1", "changes": []any{map[string]any{"key": w.key(), "value": w.value()}},
	}
	names := []string{"key", "value", "tenure", "scope", "token", "sequence", "mode", "retry_of", "part_of", "changes"}
	again := make(map[any]bool) // requests that were done before
	for _, line := range w.lines {
		again[line["request"]] = again[line["request"]] || line["kind"] == "duplicate"
	}
	switch w.IntN(10) {
	case 0, 1, 2:
		name := names[w.IntN(len(names))]
		w.set(answers, name, other[name])
	case 3:
		w.set(did, "client", w.client().name)
	case 4:
		w.set(did, "tenure", "/a@1")
	case 5:
		w.set(found, "value", []any{nil, "a", "b"}[w.IntN(3)])
	case 6:
		w.set(found, "missing", []any{nil, true}[w.IntN(2)])
	case 7:
		w.set(refused, "reason", reason)
	case 8:
		w.set(refused, "mark", fmt.Sprint(1+w.IntN(9)))
	default:
		line, _ := w.pick(func(line secondFields) bool { return answers(line) && again[line["request"]] })
		if line == nil {
			line, _ = w.pick(func(line secondFields) bool { return answers(line) && line["op"] == "read" })
		}
		if line != nil {
			line["kind"], line["reason"] = "fail", reason
		}
	}
}

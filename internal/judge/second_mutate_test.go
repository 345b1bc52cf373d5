package judge_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// mutate makes a history wrong in several ways, so that each kind of problem comes
// often, and together with others.
func (w *secondWorld) mutate() {
	several := []func(){
		w.wrongTime, w.wrongTime, w.wrongLane, w.wrongTenure, w.wrongFact, w.wrongFact, w.wrongRequest, w.wrongAnswer, w.wrongIndex, w.wrongToken, w.wrongFinal, w.wrongEnd, w.wrongAccount,
	}
	if w.chance(0.25) { // one alone, so that nothing else is wrong
		several = several[w.IntN(len(several)):][:1]
	}
	for _, wrong := range several {
		for w.chance(0.5) {
			wrong()
		}
	}
	if w.chance(0.4) { // of these a part is without effect
		w.wrongToken()
		w.wrongIndex()
	}
}

// pick is a line of which yes is true, with its place; nil where there is none.
func (w *secondWorld) pick(yes func(secondFields) bool) (line secondFields, at int) {
	var places []int
	for i, line := range w.lines {
		if yes(line) {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil, 0
	}
	at = places[w.IntN(len(places))]
	return w.lines[at], at
}

func ofKind(kinds ...string) func(secondFields) bool {
	return func(line secondFields) bool { return slices.Contains(kinds, line["kind"].(string)) }
}

func with(field string, yes func(secondFields) bool) func(secondFields) bool {
	return func(line secondFields) bool { return line[field] != nil && yes(line) }
}

// repeat puts a copy of a line somewhere after it, at the same time as what is there.
func (w *secondWorld) repeat(line secondFields, at int, change secondFields) {
	if line == nil {
		return
	}
	line = maps.Clone(line)
	maps.Copy(line, change)
	after := at + w.IntN(len(w.lines)-at)
	line["at"] = w.lines[after]["at"]
	w.lines = slices.Insert(w.lines, after+1, line)
}

// set gives a field of a picked line another value; nil takes it away.
func (w *secondWorld) set(yes func(secondFields) bool, field string, value any) {
	line, _ := w.pick(yes)
	switch {
	case line == nil:
	case value == nil:
		delete(line, field)
	default:
		line[field] = value
	}
}

func (w *secondWorld) drop(yes func(secondFields) bool) {
	if line, at := w.pick(yes); line != nil {
		w.lines = slices.Delete(w.lines, at, at+1)
	}
}

func (w *secondWorld) wrongTime() {
	_, at := w.pick(func(line secondFields) bool { return line["kind"] != "run" })
	w.lines[at]["at"] = max(0, w.lines[at-1]["at"].(int64)-int64(w.IntN(3)))
}

func (w *secondWorld) wrongTenure() {
	told := func(line secondFields) bool { return line["kind"] == "ok" && line["op"] == "lock" }
	switch w.IntN(10) {
	case 0:
		line, at := w.pick(ofKind("granted"))
		w.repeat(line, at, nil)
	case 1:
		line, at := w.pick(ofKind("ended"))
		w.repeat(line, at, nil)
	case 2:
		w.drop(ofKind("granted"))
	case 3:
		w.set(with("tenure", ofKind("invoke", "ok", "fail", "unknown", "lost")), "tenure", "/a@none")
	case 4:
		w.set(told, "tenure", nil)
	case 5:
		w.set(told, "scope", secondLocks[w.IntN(2)])
	case 6:
		w.set(ofKind("granted"), "kind", "queued")
	case 7:
		w.drop(told)
	case 8:
		w.nameless()
	default:
		w.set(ofKind("ended"), "tenure", "/a@none")
	}
}

// nameless has a client name no tenure, and perhaps no scope, in its first request after an
// unlock: it may have another lock, and has one where the unlock is made one of the other lock.
func (w *secondWorld) nameless() {
	unlock, at := w.pick(func(line secondFields) bool { return line["kind"] == "invoke" && line["op"] == "unlock" })
	if unlock == nil {
		return
	}
	if w.chance(0.5) {
		unlock["scope"] = secondLocks[w.IntN(2)]
	}
	for _, line := range w.lines[at:] {
		if line["kind"] == "invoke" && line["lane"] == unlock["lane"] && line["request"] != nil {
			delete(line, "tenure")
			if w.chance(0.5) {
				delete(line, "scope")
			}
			return
		}
	}
}

func (w *secondWorld) wrongRequest() {
	asks := with("request", ofKind("invoke"))
	answers := with("request", ofKind("ok", "fail", "unknown"))
	did := ofKind("applied", "refused", "duplicate", "unanswered")
	other, _ := w.pick(asks)
	if other == nil {
		w.tell("c1", "ok", secondFields{"op": "write", "key": "k1", "value": "a", "request": "r1"})
		return
	}
	switch w.IntN(21) {
	case 0:
		w.drop(asks)
	case 1:
		w.set(asks, "request", nil)
	case 2:
		w.set(did, "request", nil)
	case 3:
		w.set(answers, "request", nil)
	case 4:
		w.set(asks, "request", other["request"])
	case 5:
		line, at := w.pick(answers)
		w.repeat(line, at, secondFields{"kind": []string{"ok", "fail", "unknown"}[w.IntN(3)]})
	case 6:
		w.set(answers, "lane", w.client().name)
	case 7:
		w.set(answers, "op", []string{"read", "write", "delete", "change", "unlock"}[w.IntN(5)])
	case 8:
		w.set(did, "key", w.key())
	case 9:
		w.set(with("value", did), "value", w.value())
	case 10:
		w.set(did, "op", []string{"read", "write", "delete"}[w.IntN(3)])
	case 11:
		line, at := w.pick(did)
		w.repeat(line, at, nil)
	case 12:
		line, at := w.pick(ofKind("applied"))
		if line != nil && w.chance(0.5) { // of a change perhaps one key
			line["kind"], line["reason"] = "refused", "stale"
			return
		}
		w.repeat(line, at, secondFields{"kind": "refused", "reason": "stale"})
	case 13:
		w.drop(func(line secondFields) bool {
			return line["kind"] == "refused" || line["kind"] == "applied" && line["op"] == "read"
		})
	case 14:
		w.set(ofKind("fail"), "reason", []string{"stale", "missing", "ahead", "invalid"}[w.IntN(4)])
	case 15:
		w.set(did, "mode", []any{nil, "shared"}[w.IntN(2)])
	case 16, 17, 18:
		w.wrongRetry(asks, other)
	default:
		w.wrongPart(asks, other)
	}
}

// wrongRetry makes a retry of what is another request, mostly.
func (w *secondWorld) wrongRetry(asks func(secondFields) bool, other secondFields) {
	if w.version == 1 {
		return
	}
	again := secondFields{"request": fmt.Sprint("again", len(w.lines))}
	switch w.IntN(6) {
	case 0:
		w.set(asks, "retry_of", other["request"])
	case 1: // it names a later attempt
		line, at := w.pick(asks)
		w.repeat(line, at, again)
		line["retry_of"] = again["request"]
	case 2: // it names a retry
		if line, at := w.pick(with("retry_of", asks)); line != nil {
			again["retry_of"] = line["request"]
			w.repeat(line, at, again)
		}
	default: // it asks for something else, by one field
		line, at := w.pick(func(line secondFields) bool { return asks(line) && line["retry_of"] == nil })
		if line != nil {
			again["retry_of"] = line["request"]
			maps.Copy(again, secondDifferences[w.IntN(len(secondDifferences))])
			w.repeat(line, at, again)
		}
	}
}

// secondDifferences are what makes an attempt one at something else.
var secondDifferences = []secondFields{
	{"lane": "c9"}, {"op": "count"}, {"tenure": "/a@none"}, {"scope": "/c"}, {"sequence": int64(99)},
	{"key": "k9"}, {"value": "c"}, {"changes": []any{map[string]any{"key": "k9", "value": "c"}}},
}

// wrongPart makes a part of what is another change, mostly.
func (w *secondWorld) wrongPart(asks func(secondFields) bool, other secondFields) {
	if w.version == 1 {
		return
	}
	part := with("part_of", asks)
	switch w.IntN(5) {
	case 0:
		w.set(asks, "part_of", other["request"])
	case 1:
		w.set(part, "part_of", other["request"])
	case 2:
		w.set(part, "changes", []any{map[string]any{"key": w.key(), "value": w.value()}})
	case 3: // another change, which has this write as well
		if line, _ := w.pick(func(line secondFields) bool { return part(line) && line["part_of"] != line["request"] }); line != nil {
			line["changes"] = []any{map[string]any{"key": line["key"], "value": line["value"]}}
		}
	default:
		w.set(part, "value", w.value())
	}
}

func (w *secondWorld) wrongIndex() {
	placed := with("index", ofKind("applied", "refused", "duplicate", "unanswered"))
	switch w.IntN(4) {
	case 0:
		w.set(placed, "index", nil)
	case 1:
		w.drop(placed)
	case 2:
		w.drop(ofKind("kill", "restart"))
	default:
		w.set(ofKind("applied", "refused", "duplicate", "unanswered"), "index", int64(1+w.IntN(6)))
	}
}

func (w *secondWorld) wrongToken() {
	token := []any{nil, "1", "7", "8", "9", "9223372036854775807"}[w.IntN(6)]
	run := w.lines[0]["run"].(secondFields)
	switch w.IntN(4) {
	case 0:
		if w.chance(0.5) {
			token = nil // wrong of every client but one that shows none
		}
		w.set(func(line secondFields) bool { return line["kind"] == "ok" && line["op"] == "lock" }, "token", token)
	case 1, 2:
		w.set(with("tenure", ofKind("invoke")), "token", token)
	default:
		if tokens, ok := run["tokens"].(map[string]string); ok {
			if name := w.client().name; w.chance(0.5) {
				delete(tokens, name)
			} else {
				tokens[name] = []string{"revision", "max", "header", "lease", "none"}[w.IntN(5)]
			}
		}
	}
}

func (w *secondWorld) wrongEnd() {
	switch w.IntN(3) {
	case 0:
		w.drop(ofKind("end"))
	case 1:
		w.tell("c1", "note", nil)
	default:
		line, at := w.pick(ofKind("end"))
		w.repeat(line, at, nil)
	}
}

// breakLine makes a line that is no event.
func (w *secondWorld) breakLine(jsonl []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(jsonl, []byte("\n")), []byte("\n"))
	at := w.IntN(len(lines))
	text := lines[at]
	put := func(field string) []byte { return append([]byte("{"+field+","), text[1:]...) }
	lane := `"lane":"c1"`
	without := func(field string) []byte { return bytes.Replace(text, []byte(`"`+field+`":`), []byte(`"text":`), 1) }
	lines[at] = [][]byte{
		nil,
		[]byte("[]"),
		[]byte(`{"at":1` + lane + `}`),
		text[:len(text)-1],
		append(slices.Clone(text), "{}"...),
		put("\"text\":\"\xff\""),
		put(`"colour":"red"`),
		put(`"text":"a","text":"b"`),
		[]byte(`{"at":1,"kind":"odd",` + lane + `}`),
		[]byte(`{"at":1,"kind":"invoke","op":"odd",` + lane + `}`),
		[]byte(`{"at":1,"kind":"ended","tenure":"/a@1","client":"c1","scope":"/a","cause":"odd","lane":"etcd"}`),
		[]byte(`{"at":1,"kind":"refused","op":"read","request":"r1","key":"k1","reason":"odd","lane":"storage"}`),
		[]byte(`{"at":1,"kind":"note","token":"0",` + lane + `}`),
		[]byte(`{"at":1,"kind":"note","mark":"x",` + lane + `}`),
		[]byte(`{"at":1,"kind":"note","mode":"odd",` + lane + `}`),
		[]byte(`{"at":1,"kind":"note","mode":"",` + lane + `}`),
		[]byte(`{"at":1,"kind":"note","token":"9223372036854775808",` + lane + `}`),
		[]byte(`{"at":"1","kind":"note",` + lane + `}`),
		[]byte(`{"at":1,"kind":"invoke",` + lane + `}`),
		[]byte(`{"at":1,"kind":"granted","client":"c1","scope":"/a","token":"1","lane":"etcd"}`),
		lines[max(0, at-1)],
		[]byte(`{"at":1,"kind":"invoke","op":"change","request":"r1",` + lane + `}`),
		without("lane"),
	}[w.IntN(23)]
	if at > 0 && w.chance(0.1) {
		lines[at] = lines[0] // another run begins
	}
	if at == 0 && w.chance(0.3) {
		lines[at] = []byte(`{"at":0,"lane":"gcsim","kind":"run","run":{"version":3}}`)
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

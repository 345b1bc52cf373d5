package judge_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The second judge is docs/histories.md once more: written from that page alone,
// for obviousness and not for speed, and with no code of the first one. It takes
// the whole history, puts it in order, and then looks from the beginning for each
// rule. A rule can be switched off by its name, to see whether that is noticed.

// secondFinding is something wrong with a history, or a violation. Line counts from 1.
// Against is the line that it contradicts; 0: none.
type secondFinding struct {
	Kind    string
	Line    int
	Against int
}

// secondJudgement is what a judge says. With problems it is nothing but them.
type secondJudgement struct {
	Problems       []secondFinding
	Name           string
	Violations     []secondFinding
	Stale, Refused int
	Ordered        bool
	Exclusive      bool
	Fair           string // yes, no, or not judged
	Final          map[string]string
}

// secondRule is a rule of the page: the kind of what it finds, a name for it, and
// where it finds it.
type secondRule struct {
	kind, name string
	find       func(*secondHistory) []*secondEvent
}

// secondEvent is a line of a history.
type secondEvent struct {
	line  int // from 1
	place int // in the order in which events are judged

	at, took                       int64
	lane, kind, op, client, tenure string
	request, retryOf, partOf       string
	scope, key, value, reason      string
	mode                           string
	token, mark, index, sequence   int64
	missing                        bool
	changes                        []secondChange
	version                        int64
	cause, service                 string
	together                       [][]string
	tokens                         map[string]string
	bounds                         map[string]int64
	handover                       int64
	sessions                       map[string]string
	unlocked                       bool
}

type secondChange struct{ key, value string }

// secondJudge judges the lines of a history, without the rules that are off.
func secondJudge(lines []byte, off map[string]bool) secondJudgement {
	events, problem := readSecondEvents(lines, off)
	if problem != 0 {
		return secondJudgement{Problems: []secondFinding{{"line", problem, 0}}}
	}
	return newSecondHistory(events, off).judge()
}

func (h *secondHistory) judge() secondJudgement {
	if problems := h.problems(slices.Concat(secondProblemRules, secondAccountRules)); len(problems) > 0 {
		return secondJudgement{Problems: problems}
	}
	j := secondJudgement{
		Violations: append(h.findings(secondCorruptions), h.findings(secondBlockages)...),
		Stale:      h.refusedAttempts("stale"),
		Refused:    h.refusedAttempts(""),
		Ordered:    h.ordered(),
		Exclusive:  h.exclusive(),
		Fair:       h.fair(),
		Final:      h.final(),
	}
	switch {
	case len(h.findings(secondCorruptions)) > 0:
		j.Name = "corrupted"
	case len(j.Violations) > 0:
		j.Name = "blocked"
	case len(h.findings(secondDoubts)) > 0:
		j.Name = "undecided"
	default:
		j.Name = "safe"
	}
	return j.sorted()
}

// same says whether two judges say the same.
func (j secondJudgement) same(other secondJudgement) bool {
	return slices.Equal(j.Problems, other.Problems) && j.Name == other.Name && slices.Equal(j.Violations, other.Violations) &&
		j.Stale == other.Stale && j.Refused == other.Refused && j.Ordered == other.Ordered &&
		j.Exclusive == other.Exclusive && j.Fair == other.Fair && maps.Equal(j.Final, other.Final)
}

// sorted puts what was found in the order of kinds and lines.
func (j secondJudgement) sorted() secondJudgement {
	j.Problems, j.Violations = sortFindings(j.Problems), sortFindings(j.Violations)
	return j
}

func sortFindings(findings []secondFinding) []secondFinding {
	slices.SortFunc(findings, func(a, b secondFinding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Against, b.Against))
	})
	return slices.Compact(findings)
}

func (h *secondHistory) findings(rules []secondRule) (found []secondFinding) {
	for _, rule := range rules {
		if h.off[rule.name] {
			continue
		}
		for _, e := range rule.find(h) {
			found = append(found, secondFinding{rule.kind, e.line, 0})
		}
	}
	return sortFindings(found)
}

func (h *secondHistory) problems(rules []secondProblem) (found []secondFinding) {
	for _, rule := range rules {
		if h.off[rule.name] {
			continue
		}
		for _, e := range rule.find(h) {
			p := secondFinding{rule.kind, e.line, 0}
			if rule.against != nil {
				if other := rule.against(h, e); other != nil {
					p.Against = other.line
				}
			}
			found = append(found, p)
		}
	}
	return sortFindings(found)
}

// The rules of a single line. Their order is that in which they are looked at.
var secondLineRules = []struct {
	name   string
	broken func(fields map[string]any) bool
}{
	{"line: known fields", func(f map[string]any) bool {
		return anyKey(f, func(name string) bool { return secondFieldTypes[name] == "" })
	}},
	{"line: types", func(f map[string]any) bool {
		return anyKey(f, func(name string) bool {
			return secondFieldTypes[name] != "" && !hasType(f[name], secondFieldTypes[name])
		})
	}},
	{"line: tokens", func(f map[string]any) bool { return !isToken(f["token"]) || !isToken(f["mark"]) }},
	{"line: a lane", func(f map[string]any) bool { return jsonText(f["lane"]) == "" }},
	{"line: known kind", func(f map[string]any) bool { return secondNeeds[jsonText(f["kind"])] == nil }},
	{"line: known op", func(f map[string]any) bool { return unknownText(f["op"], secondOps) }},
	{"line: known cause", func(f map[string]any) bool {
		return unknownText(f["cause"], secondCauses) || f["kind"] == "ended" && unknownText(f["cause"], secondCauses[:3])
	}},
	{"line: known reason", func(f map[string]any) bool {
		return unknownText(f["reason"], secondReasons) || f["kind"] == "refused" && unknownText(f["reason"], secondReasons[:4])
	}},
	{"line: known mode", func(f map[string]any) bool {
		return f["mode"] != nil && !slices.Contains([]string{"shared", "exclusive"}, jsonText(f["mode"]))
	}},
	{"line: version", func(f map[string]any) bool {
		return jsonNumber(jsonObject(f["run"])["version"]) > 2
	}},
	{"line: a key", func(f map[string]any) bool {
		return slices.Contains([]string{"read", "write", "delete"}, jsonText(f["op"])) && jsonText(f["key"]) == ""
	}},
	{"line: changes", func(f map[string]any) bool {
		return f["kind"] == "invoke" && f["op"] == "change" && len(jsonList(f["changes"])) == 0
	}},
	{"line: what its kind needs", func(f map[string]any) bool {
		return slices.ContainsFunc(secondNeeds[jsonText(f["kind"])], func(name string) bool {
			return f[name] == nil || f[name] == ""
		})
	}},
}

// secondFieldTypes are the fields that a line can have.
var secondFieldTypes = map[string]string{
	"at": "number", "lane": "text", "kind": "text", "run": "object",
	"op": "text", "step": "text", "client": "text", "tenure": "text", "request": "text", "index": "number",
	"retry_of": "text", "part_of": "text", "scope": "text", "token": "text", "mark": "text", "sequence": "number", "mode": "text",
	"key": "text", "value": "text", "missing": "flag", "changes": "list",
	"reason": "text", "cause": "text", "took": "number", "text": "text",
}

// secondNeeds are, for each kind, fields that it cannot be without.
var secondNeeds = map[string][]string{
	"run":    {"run"},
	"queued": {"tenure", "client", "scope"}, "granted": {"tenure", "client", "scope"}, "ended": {"tenure"},
	"applied": {"op"}, "refused": {"op", "reason"}, "duplicate": {"op"}, "unanswered": {"op"}, "final": {"key"},
	"invoke": {"op"}, "ok": {"op"}, "fail": {"op"}, "unknown": {"op"}, "lost": {"tenure"}, "awaited": {"tenure"},
	"pause": {}, "resume": {}, "kill": {}, "restart": {}, "network": {}, "starved": {}, "note": {}, "error": {}, "end": {},
}

var (
	secondOps     = []string{"lock", "trylock", "unlock", "renew", "count", "read", "write", "delete", "change"}
	secondCauses  = []string{"expired", "released", "revoked", "SIGSTOP", "GC", "partition", "deafen", "delay", "deliver", "reset", "heal"}
	secondReasons = []string{"stale", "missing", "invalid", "ahead", "held", "expired", "lost"}
	decimal       = regexp.MustCompile(`^[1-9][0-9]*$`)
)

func anyKey(m map[string]any, wrong func(string) bool) bool {
	for name := range m {
		if wrong(name) {
			return true
		}
	}
	return false
}

func unknownText(v any, known []string) bool {
	return jsonText(v) != "" && !slices.Contains(known, jsonText(v))
}

func hasType(v any, want string) (ok bool) {
	switch want {
	case "text":
		_, ok = v.(string)
	case "flag":
		_, ok = v.(bool)
	case "list":
		_, ok = v.([]any)
	case "object":
		_, ok = v.(map[string]any)
	case "number":
		n, _ := v.(json.Number)
		_, err := n.Int64()
		ok = err == nil
	}
	return ok
}

// isToken says whether v is a token, or there is none.
func isToken(v any) bool {
	s, ok := v.(string)
	_, err := strconv.ParseInt(s, 10, 64)
	return v == nil || ok && err == nil && decimal.MatchString(s)
}

func jsonText(v any) string {
	s, _ := v.(string)
	return s
}

func jsonNumber(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

func jsonList(v any) []any {
	l, _ := v.([]any)
	return l
}

func jsonObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// readSecondEvents returns the events, or the first line that is none.
func readSecondEvents(lines []byte, off map[string]bool) (events []*secondEvent, problem int) {
	for n, line := range bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n")) {
		fields, err := readSecondLine(line, off)
		broken := err != nil && !off["line: an object"]
		for _, rule := range secondLineRules {
			broken = broken || err == nil && !off[rule.name] && rule.broken(fields)
		}
		if first := n == 0; first != (jsonText(fields["kind"]) == "run") {
			broken = broken || first || !off["line: one run"]
		}
		if broken {
			return nil, n + 1
		}
		events = append(events, newSecondEvent(n+1, fields))
	}
	return events, 0
}

var errNoEvent = errors.New("this is no event")

// readSecondLine reads a line that is one JSON object in UTF-8.
func readSecondLine(line []byte, off map[string]bool) (map[string]any, error) {
	if !utf8.Valid(line) && !off["line: UTF-8"] {
		return nil, errNoEvent
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	v, err := readSecondValue(dec, off)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoEvent
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errNoEvent
	}
	return fields, nil
}

// readSecondValue reads a value in which no object has a field twice.
func readSecondValue(dec *json.Decoder, off map[string]bool) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := make(map[string]any)
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			_, twice := m[name.(string)]
			if m[name.(string)], err = readSecondValue(dec, off); err != nil {
				return nil, err
			}
			if twice && !off["line: no field twice"] {
				return nil, errNoEvent
			}
		}
		_, err = dec.Token()
		return m, err
	case json.Delim('['):
		l := []any{}
		for dec.More() {
			v, err := readSecondValue(dec, off)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err = dec.Token()
		return l, err
	}
	return t, nil
}

func newSecondEvent(line int, f map[string]any) *secondEvent {
	e := &secondEvent{
		line: line, at: jsonNumber(f["at"]), lane: jsonText(f["lane"]), kind: jsonText(f["kind"]), op: jsonText(f["op"]),
		client: jsonText(f["client"]), tenure: jsonText(f["tenure"]), request: jsonText(f["request"]),
		retryOf: jsonText(f["retry_of"]), partOf: jsonText(f["part_of"]), scope: jsonText(f["scope"]),
		key: jsonText(f["key"]), value: jsonText(f["value"]), reason: jsonText(f["reason"]), mode: jsonText(f["mode"]),
		index: jsonNumber(f["index"]), sequence: jsonNumber(f["sequence"]), missing: f["missing"] == true,
		cause: jsonText(f["cause"]), took: jsonNumber(f["took"]), tokens: make(map[string]string), bounds: make(map[string]int64),
		sessions: make(map[string]string), unlocked: jsonObject(f["run"])["unlocked"] == true,
	}
	e.token, _ = strconv.ParseInt(jsonText(f["token"]), 10, 64)
	e.mark, _ = strconv.ParseInt(jsonText(f["mark"]), 10, 64)
	for _, c := range jsonList(f["changes"]) {
		e.changes = append(e.changes, secondChange{jsonText(jsonObject(c)["key"]), jsonText(jsonObject(c)["value"])})
	}
	run := jsonObject(f["run"])
	e.version = jsonNumber(run["version"])
	e.service = cmp.Or(jsonText(run["service"]), "etcd")
	e.handover = jsonNumber(run["handover"])
	for client, bound := range jsonObject(run["bounds"]) {
		e.bounds[client] = jsonNumber(bound)
	}
	for _, keys := range jsonList(run["together"]) {
		var set []string
		for _, key := range jsonList(keys) {
			set = append(set, jsonText(key))
		}
		e.together = append(e.together, set)
	}
	for client, owner := range jsonObject(run["sessions"]) {
		e.sessions[client] = jsonText(owner)
	}
	for client, entry := range jsonObject(run["tokens"]) {
		e.tokens[client] = jsonText(entry)
	}
	return e
}

package judge_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// secondRuleNames are the names of all rules of the second judge.
func secondRuleNames() (names []string) {
	for _, rule := range secondLineRules {
		names = append(names, rule.name)
	}
	for _, rule := range slices.Concat(secondProblemRules, secondAccountRules) {
		names = append(names, rule.name)
	}
	for _, rules := range [][]secondRule{secondCorruptions, secondBlockages, secondDoubts} {
		for _, rule := range rules {
			names = append(names, rule.name)
		}
	}
	return append(names, secondExceptions...)
}

// noticed says whether a history is judged in another way without a rule. A rule for
// what cannot be judged is looked at only where that was found, and any other where
// all could be judged.
func noticed(rule string, lines []byte, events []*secondEvent, whole secondJudgement) bool {
	off := map[string]bool{rule: true}
	kind, _, _ := strings.Cut(rule, ":")
	found := slices.ContainsFunc(whole.Problems, func(p secondFinding) bool { return p.Kind == kind })
	switch {
	case found && kind == "line":
		return !whole.same(secondJudge(lines, off))
	case found, len(whole.Problems) == 0 && !slices.Contains(secondProblems, kind):
		return !whole.same(newSecondHistory(events, off).judge())
	}
	return false
}

// TestEveryRuleMatters: a rule of the second judge that is switched off is noticed,
// because one of so many random histories is then judged in another way.
func TestEveryRuleMatters(t *testing.T) {
	need.Night(t, "to judge some thousand histories")
	t.Parallel()
	most := uint64(10_000)
	left := secondRuleNames()
	for seed := uint64(0); seed < most && len(left) > 0; seed++ {
		lines := randomHistory(seed, 30)
		events, problem := readSecondEvents(lines, nil)
		whole := secondJudgement{Problems: []secondFinding{{"line", problem, 0}}}
		if problem == 0 {
			whole = newSecondHistory(events, nil).judge()
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			return noticed(name, lines, events, whole)
		})
	}
	if len(left) > 0 {
		t.Errorf("in %d histories nobody notices that these rules are off: %s", most, strings.Join(left, "; "))
	}
}

// firstJudgeMutations break the first judge, a rule each: in a file below the root of
// the module a text, which stands there once, becomes another.
var firstJudgeMutations = []struct{ file, text, replacement string }{
	{"internal/judge/verdict/judge.go", `order >= harm.tenure || a.stray`, `order > harm.tenure || a.stray`},
	{"internal/judge/verdict/judge.go", "\t\ta.stray = true\n\t\tj.violate(kind, ", "\t\tj.violate(kind, "},
	{"internal/judge/verdict/judge.go", `t != nil && t.starved != ""`, `false`},
	{"internal/judge/verdict/together.go", `last.tenure != nil && last.tenure.starved != ""`, `false`},
	{"internal/judge/verdict/starve.go", `e.Cause != history.CauseExpired || `, ``},
	{"internal/judge/verdict/starve.go", `j.hunger.awaited[e.Tenure] || `, ``},
	{"internal/judge/verdict/starve.go", `faulty(t.client) || `, ``},
	{"internal/judge/verdict/starve.go", ` || faulty(j.serviceLane())`, ``},
	{"internal/judge/verdict/starve.go", `e.At > from && e.At-starving < to`, `e.At-starving < to`},
	{"internal/judge/verdict/starve.go", `l.took-j.lacked(l.since, i, lanes...) > bound`, `l.took > bound`},
	{"internal/judge/verdict/judge.go", `		return t.scope.used
`, `		return j.guard(e).used
`},
	{"internal/judge/verdict/judge.go", `return t.scope.usedAlone`, `return t.scope.used`},
	{"internal/judge/verdict/judge.go", `return t.scope.changedAlone`, `return t.scope.usedAlone`},
	{"internal/judge/verdict/judge.go", `t == nil || t.mode == fence.Exclusive && read:`, `t == nil || read:`},
	{"internal/judge/verdict/judge.go", `t == nil || t.mode == fence.Exclusive && read:`, `t == nil:`},
	{"internal/judge/verdict/judge.go", `t.outrun > 0 && !a.stray`, `t.outrun > 0`},
	{"internal/judge/verdict/tenure.go", `	if !t.begun {`, `	if !t.begun && e.Op == history.OpRead {`},
	{"internal/judge/verdict/tenure.go", `			o.outrun = i
`, ``},
	{"internal/judge/verdict/judge.go", "\tif s := j.guards[e.Key]; s != nil {\n\t\treturn s\n\t}\n", ``},
	{"internal/judge/verdict/tenure.go", `	if t.order >= w.tenure {`, `	if t.order > 0 {`},
	{"internal/judge/verdict/tenure.go", `t.mode == fence.Shared && u.mode == fence.Shared }`, `t.mode == fence.Shared }`},
	{"internal/judge/verdict/tenure.go", `t.mode == fence.Shared && u.mode == fence.Shared }`, `false }`},
	{"internal/judge/verdict/judge.go", `u == nil || u.scope == t.scope || `, `u == nil || `},
	{"internal/judge/verdict/judge.go", `last.by.client == a.client || `, ``},
	{"internal/judge/verdict/judge.go", ` || u.over && u.ended < t.granted`, ` || u.over`},
	{"internal/judge/verdict/judge.go", `t == nil || !t.holds`, `t == nil || t.over`},
	{"internal/judge/verdict/judge.go", "\tcase e.Token == 0: // it did not show that it holds the lock\n", ``},
	{"internal/judge/verdict/judge.go", `e.Token == e.Mark && e.Sequence > 0 && e.Sequence < t.sequence`, `e.Token == e.Mark && e.Sequence > 0`},
	{"internal/judge/verdict/judge.go", `e.Reason == "ahead" && e.Token != t.token`, `e.Reason == "ahead"`},
	{"internal/judge/verdict/judge.go", "\tif a.refused {\n\t\treturn\n\t}\n", ``},
	{"internal/judge/verdict/judge.go", "\t\tw.done[key]--\n", "\t\t_ = w\n"},
	{"internal/judge/verdict/judge.go", "\tj.written[key] = j.written[key][:len(j.written[key])-1]\n", ``},
	{"internal/judge/verdict/request.go", `n.request != nil && n.place > a.place`, `n.request != nil && n.place >= a.place`},
	{"internal/judge/verdict/request.go", "\tif a.tenure == \"\" {\n\t\treturn\n\t}\n", ``},
	{"internal/judge/verdict/request.go", `n.request == nil || n.place <= r.place`, `n.request == nil || true`},
	{"internal/judge/verdict/request.go", "\tif a.told {\n\t\tj.renew(o, a.request)\n\t}\n", "\tj.renew(o, a.request)\n"},
	{"internal/judge/verdict/request.go", `!slices.Contains(a.keys, key) && `, `(true || slices.Contains(a.keys, key)) && `},
	{"internal/judge/verdict/request.go", `return duplicate && changed`, `return duplicate && (true || changed)`},
	{"internal/judge/verdict/request.go", `duplicate = j.events[a.place].Sequence != 0 && len(a.keys) == 0`, `duplicate = false`},
	{"internal/judge/verdict/request.go", `e.Kind == history.KindFail && a != nil && a.first >= 0`, `e.Kind == history.KindUnknown && a != nil && a.first >= 0`},
	{"internal/judge/verdict/request.go", "\t\t\ta.acknowledged = true\n", "\t\t\t_ = a\n"},
	{"internal/judge/verdict/request.go", `func sameByName(e history.Event) string { return e.RetryOf }`, `func sameByName(history.Event) string { return "" }`},
	{"internal/judge/verdict/request.go", `j.events[outcome[again]].Kind != history.KindUnknown`, `again == ""`},
	{"internal/judge/verdict/tenure.go", `told.token <= before`, `told.token < before`},
	{"internal/judge/verdict/tenure.go", `before != nil {`, `before != nil && len(s.open) > 1 {`},
	{"internal/judge/verdict/tenure.go", `t.holds = true, j.place, false`, `t.holds = true, j.place, t.holds`},
	{"internal/judge/verdict/tenure.go", `o.holds && !conflicts(o)`, `o.holds && (true || !conflicts(o))`},
	{"internal/judge/verdict/tenure.go", `free = t.free && t.comers == s.comers`, `free = t.free`},
	{"internal/judge/verdict/tenure.go", `case !free || e.Reason != "":`, `case !free:`},
	{"internal/judge/verdict/tenure.go", `e.Kind != history.KindFail || t.client`, `t.client`},
	{"internal/judge/verdict/tenure.go", ` || t.client != e.Lane || `, ` || `},
	{"internal/judge/verdict/tenure.go", ` || !j.questions.givenUp(t)`, ``},
	{"internal/judge/verdict/tenure.go", `free = free && !j.handsOver(i, e)`, `free = free`},
	{"internal/judge/verdict/tenure.go", ` && !j.justFreed(i, e)`, ``},
	{"internal/judge/verdict/tenure.go", `e.Op == history.OpLock && e.Lane == told.Lane`, `e.Lane == told.Lane`},
	{"internal/judge/verdict/tenure.go", ` && t.scope.name == told.Scope && `, ` && `},
	{"internal/judge/verdict/tenure.go", ` && t.client != told.Lane`, ``},
	{"internal/judge/verdict/tenure.go", `if handover == 0 {`, `if false {`},
	{"internal/judge/verdict/tenure.go", `told.At <= e.At+handover`, `told.At < e.At+handover`},
	{"internal/judge/verdict/tenure.go", `return handover > 0 && `, `return `},
	{"internal/judge/verdict/tenure.go", `later.Kind == history.KindGranted && `, ``},
	{"internal/judge/verdict/tenure.go", `later.Scope == e.Scope && `, ``},
	{"internal/judge/verdict/tenure.go", `later.At <= e.At+handover`, `true`},
	{"internal/judge/verdict/tenure.go", `later.At <= e.At+handover`, `later.At < e.At+handover`},
	{"internal/judge/verdict/tenure.go", `later.Client != e.Lane && `, ``},
	{"internal/judge/verdict/tenure.go", ` && j.scope(e.Scope).waitOf(later.Client) != nil`, ``},
	{"internal/judge/verdict/tenure.go", `!t.said && client != a.client`, `client != a.client`},
	{"internal/judge/verdict/tenure.go", `j.wasTold(client, a.tenure) && `, ``},
	{"internal/judge/verdict/value.go", "\tif v.open[e.Key] {\n\t\treturn\n\t}\n", ``},
	{"internal/judge/verdict/judge.go", `last == nil || j.open[e.Key]`, `last == nil`},
	{"internal/judge/verdict/judge.go", "\t\tt.sequence = max(t.sequence, e.Sequence)\n", "\t\t_ = t\n"},
	{"internal/judge/verdict/together.go", `j.isOpen(s) || `, ``},
	{"internal/judge/verdict/verdict.go", ` && len(v.Undecided) > 0`, ` && false`},
	{"internal/history/checkrequest.go", `e.Kind != KindUnknown && a.did() == KindUnanswered`, `false`},
	{"internal/judge/verdict/value.go", `c.event < v.restart && `, ``},
	{"internal/judge/verdict/value.go", `!c.found && `, ``},
	{"internal/judge/verdict/value.go", ` && !c.by.acknowledged`, ``},
	{"internal/judge/verdict/value.go", `return !found.Missing && found.Value == v.events[c.event].Value`, `return !found.Missing`},
	{"internal/judge/verdict/together.go", ` && !t.together(last.tenure)`, ``},
	{"internal/judge/verdict/together.go", `t.order > last.tenure.order`, `t.order >= last.tenure.order`},
	{"internal/judge/verdict/together.go", `t.scope == last.tenure.scope && `, ``},
	{"internal/judge/verdict/together.go", `author(c) != first || `, `author(c) != first && false || `},
	{"internal/judge/verdict/together.go", ` || c != nil && c.by.whole != nil && !s.complete(c.by.whole)`, ``},
	{"internal/judge/verdict/together.go", ` || s.said[last.event]`, ``},
	{"internal/judge/verdict/together.go", `slices.Contains(s.keys, key) && w.done`, `w.done`},
	{"internal/judge/verdict/together.go", "\tif w := named[e.PartOf]; w != nil {\n\t\treturn w\n\t}\n", ``},
	{"internal/judge/verdict/order.go", `(e.Kind == history.KindKill || e.Kind == history.KindRestart)`, `e.Kind == history.KindKill`},
	{"internal/judge/verdict/wait.go", "\t\tl.paused = true\n", "\t\t_ = l\n"},
	{"internal/judge/verdict/wait.go", `l.killed, l.died = true, i`, `l.died = i`},
	{"internal/judge/verdict/wait.go", `l.killed, l.died = true, i`, `l.killed = true`},
	{"internal/judge/verdict/wait.go", `l.paused, l.killed = false, false`, `l.killed = false`},
	{"internal/judge/verdict/wait.go", `l.paused, l.killed = false, false`, `l.paused = false`},
	{"internal/judge/verdict/wait.go", `l.cut = true`, `_ = l`},
	{"internal/judge/verdict/wait.go", `l.deaf = true`, `_ = l`},
	{"internal/judge/verdict/wait.go", `l.delayed = true`, `_ = l`},
	{"internal/judge/verdict/wait.go", `l.delayed = false`, `_ = l`},
	{"internal/judge/verdict/wait.go", `l.cut, l.deaf = false, false`, `l.cut = false`},
	{"internal/judge/verdict/wait.go", `l.cut, l.deaf = false, false`, `l.deaf = false`},
	{"internal/judge/verdict/wait.go", `case asks && w == nil:`, `case asks:`},
	{"internal/judge/verdict/wait.go", `w.told = true`, `_ = w`},
	{"internal/judge/verdict/wait.go", `w.killed = true`, `_ = w`},
	{"internal/judge/verdict/wait.go", `anew := j.isEnd(i) || `, `anew := false || `},
	{"internal/judge/verdict/wait.go", `e.Lane == history.LaneLab || `, ``},
	{"internal/judge/verdict/wait.go", `history.LaneLab || e.Lane == j.events[0].Run.LockService()`, `history.LaneLab`},
	{"internal/judge/verdict/wait.go", `!j.lane(history.LaneLab).hindered() && `, ``},
	{"internal/judge/verdict/wait.go", ` && !j.lane(j.events[0].Run.LockService()).hindered()`, ``},
	{"internal/judge/verdict/wait.go", ` && !j.lane(w.client).hindered()`, ``},
	{"internal/judge/verdict/wait.go", `waits && len(s.open) == 0`, `waits`},
	{"internal/judge/verdict/wait.go", `l.died > t.came || `, `l.died > t.event || `},
	{"internal/judge/verdict/wait.go", `, q != nil && q.killed`, `, q != nil && false`},
	{"internal/judge/verdict/question.go", `q != nil && q.gaveUp && !`, `q != nil && false && !`},
	{"internal/judge/verdict/question.go", ` && !qs.known[word{t.client, t.name}]`, ``},
	{"internal/judge/verdict/question.go", `e.Op == history.OpLock || e.Op == history.OpTryLock`, `e.Op == history.OpLock`},
	{"internal/judge/verdict/question.go", `case e.Reason == "held":`, `case false:`},
	{"internal/judge/verdict/question.go", "\t\tdelete(qs.open, of)\n", ``},
	{"internal/judge/verdict/question.go", `q.killed || of.client == client`, `q.killed || of.client == ""`},
	{"internal/judge/verdict/question.go", `qs.of[e.Tenure] = open[len(open)-1]`, `qs.of[e.Tenure] = open[0]`},
	{"internal/judge/verdict/wait.go", ` || l.paused || l.cut`, ` || l.cut`},
	{"internal/judge/verdict/wait.go", ` || l.paused || l.cut`, ` || l.paused`},
	{"internal/judge/verdict/wait.go", `t.holds && why != ""`, `why != ""`},
	{"internal/judge/verdict/wait.go", `case !runs, anew:`, `case !runs:`},
	{"internal/judge/verdict/wait.go", `one.tooLong(bound) && !w.told`, `one.tooLong(bound)`},
	{"internal/judge/verdict/wait.go", `if s.awaited && (!lasts || !runs`, `if s.anew > 0 && (!lasts || !runs`},
	{"internal/judge/verdict/wait.go", `one.tooLong(bound) && !g.said`, `one.tooLong(bound)`},
	{"internal/judge/verdict/wait.go", `!runs || !awaited || anew`, `!runs || anew`},
	{"internal/judge/verdict/wait.go", `if s.awaited && (!lasts || !awaited || j.isEnd(i)) {`, `if s.awaited && (!lasts || j.isEnd(i)) {`},
	{"internal/judge/verdict/wait.go", `all = lap{s.since, s.ran + took}`, `all = lap{s.since, took}`},
	{"internal/judge/verdict/wait.go", `all = lap{s.since, s.ran + took}`, `all = lap{s.since, j.between(s.since, i)}`},
	{"internal/judge/verdict/wait.go", `(!lasts || !awaited || j.isEnd(i))`, `(!lasts || !awaited)`},
	{"internal/judge/verdict/wait.go", `all.tooLong(bound) && !w.told`, `all.tooLong(bound)`},
	{"internal/judge/verdict/wait.go", `l.took > bound`, `l.took >= bound`},
	{"internal/judge/verdict/cycle.go", `one.tooLong(bound)`, `one.tooLong(bound) && !c.said`},
	{"internal/judge/verdict/cycle.go", `all.tooLong(bound) && !c.said`, `false`},
	{"internal/judge/verdict/cycle.go", `, append(c.clients, j.serviceLane())...)`, `, j.serviceLane())`},
	{"internal/judge/verdict/cycle.go", `, append(c.clients, j.serviceLane())...)`, `, c.clients...)`},
	{"internal/judge/verdict/cycle.go", `j.runs(), true, anew)`, `true, true, anew)`},
	{"internal/judge/verdict/cycle.go", `j.runs(), true, anew)`, `j.runs(), true, false)`},
	{"internal/judge/verdict/cycle.go", ` || own < bound)`, ` || own > bound)`},
	{"internal/judge/verdict/cycle.go", `own > 0 && `, ``},
	{"internal/judge/verdict/cycle.go", `return slices.Equal(o.clients, c.clients)`, `return o.clients[0] == c.clients[0]`},
	{"internal/judge/verdict/cycle.go", ` && leads(edges, o.client, e.client)`, ``},
	{"internal/judge/verdict/cycle.go", `leads(edges, e.client, o.client) && `, ``},
	{"internal/judge/verdict/cycle.go", `len(c.clients) > 1 && `, ``},
	{"internal/judge/verdict/cycle.go", `!j.lane(w.client).hindered()`, `true`},
	{"internal/judge/verdict/cycle.go", `case !slices.Contains(reached, e.holder):`, `case false:`},
	{"internal/judge/verdict/order.go", `; !known {`, `; !known || e.Kind == history.KindGranted {`},
	{"internal/judge/verdict/order.go", `first.came > t.came`, `first.came > 0`},
	{"internal/judge/verdict/order.go", `first = s.latestAlone`, `first = s.latest`},
	{"internal/judge/verdict/order.go", `t.mode == fence.Exclusive`, `t.scope == s`},
	{"internal/judge/verdict/order.go", `a.came > b.came`, `a.event > b.event`},
	{"internal/judge/verdict/verdict.go", `if j.queues {`, `if j.queues || true {`},
	{"internal/history/check.go", `if e.At < c.now {`, `if e.At+1 < c.now {`},
	{"internal/history/check.go", `case last && !isEnd:`, `case last && !isEnd && false:`},
	{"internal/history/check.go", `case isEnd && !last:`, `case isEnd && !last && false:`},
	{"internal/history/checktenure.go", `case e.Kind == KindGranted && a.granted != 0:`, `case false:`},
	{"internal/history/checktenure.go", "\tcase a.ended != 0:\n", "\tcase false:\n"},
	{"internal/history/checktenure.go", "\tcase a.granted == 0:\n", "\tcase false:\n"},
	{"internal/history/checktenure.go", `AsksForLock(e.Op) && e.Tenure == "":`, `AsksForLock(e.Op) && e.Tenure == "" && false:`},
	{"internal/history/checktenure.go", "\tcase a == nil:\n", "\tcase a == nil:\n\tcase false:\n"},
	{"internal/history/checktenure.go", `case !c.queued[clientTenure{e.Lane, e.Tenure}] && `, `case `},
	{"internal/history/checktenure.go", `	case !a.ever():`, `	case false:`},
	{"internal/history/checktenure.go", `	case e.Scope != a.first.Scope:`, `	case false:`},
	{"internal/history/checktenure.go", `right = told == granted`, `right = told >= granted`},
	{"internal/history/checktenure.go", `right = told >= granted`, `right = told > granted`},
	{"internal/history/checktenure.go", `right = told > 0`, `right = true`},
	{"internal/history/checktenure.go", `right = told == math.MaxInt64`, `right = true`},
	{"internal/history/checktenure.go", `how == ShowsMax && e.Token == math.MaxInt64, `, ``},
	{"internal/history/checktenure.go", `how == ShowsNone || e.Op == OpRead || `, `how == ShowsNone || `},
	{"internal/history/checktenure.go", `	case e.Tenure == "", how == "":`, `	case e.Tenure == "":`},
	{"internal/history/checktenure.go", `return how == ShowsAny && e.Token > 0`, `return how == ShowsAny`},
	{"internal/history/checkrequest.go", `a != nil && a.invoke.Line != c.line {`, `false {`},
	{"internal/history/checkrequest.go", `a.invoke.Line >= c.line || a.invoke.RetryOf`, `a.invoke.RetryOf`},
	{"internal/history/checkrequest.go", ` || a.invoke.RetryOf != "" {`, ` {`},
	{"internal/history/checkrequest.go", `first.Lane == e.Lane && `, ``},
	{"internal/history/checkrequest.go", `first.Op == e.Op && `, ``},
	{"internal/history/checkrequest.go", `first.Sequence == e.Sequence &&`, `true &&`},
	{"internal/history/checkrequest.go", `first.Key == e.Key && `, ``},
	{"internal/history/checkrequest.go", `a.invoke.PartOf == e.PartOf && `, ``},
	{"internal/history/checkrequest.go", `slices.Equal(a.invoke.Changes, e.Changes) && `, ``},
	{"internal/history/checkrequest.go", ` && slices.Contains(e.Changes, Change{e.Key, e.Value})`, ``},
	{"internal/history/checkrequest.go", `case e.Request == "" && e.Kind == KindFail:`, `case e.Request == "":`},
	{"internal/history/checkrequest.go", "\tcase a.answered != 0:\n", "\tcase false:\n"},
	{"internal/history/checkrequest.go", `a.invoke.Lane != e.Lane || `, ``},
	{"internal/history/checkrequest.go", ` || a.invoke.Op != e.Op:`, `:`},
	{"internal/history/checkrequest.go", `applied == nil:`, `false:`},
	{"internal/history/checkrequest.go", `refused && e.Reason != reasonInvalid && a.did() == "":`, `false:`},
	{"internal/history/checkrequest.go", `!isOf(e, a.invoke.Event):`, `false:`},
	{"internal/history/checkrequest.go", `!sameClaim(e, a.invoke.Event):`, `false:`},
	{"internal/history/checkrequest.go", "\treturn a.mixed\n", "\treturn 0\n"},
	{"internal/history/checkrequest.go", ` && told.Mode == asked.Mode`, ``},
	{"internal/history/checkrequest.go", "\tcase a.keys[e.Key] != 0:\n", "\tcase false:\n"},
	{"internal/history/checkrequest.go", `case c.did && c.placed != (e.Index > 0):`, `case false:`},
	{"internal/history/checkrequest.go", "\t\tcase c.placed:\n", "\t\tcase false:\n"},
	{"internal/history/checkrequest.go", `		if place > last+1 {`, `		if last < 0 {`},
	{"internal/history/checklane.go", `s == LaneStorage || s == LaneLab {`, `s == LaneStorage {`},
	{"internal/history/checklane.go", `s == LaneStorage || s == LaneLab {`, `s == LaneLab {`},
	{"internal/history/checklane.go", `, slices.Collect(maps.Keys(c.run.Bounds))`, ``},
	{"internal/history/checklane.go", `slices.Collect(maps.Keys(c.run.Tokens)), `, ``},
	{"internal/history/checklane.go", `isClients(e.Kind) && !c.isClient(e.Lane):`, `false:`},
	{"internal/history/checklane.go", `(e.Kind == KindGranted || e.Kind == KindQueued) && !c.isClient(e.Client):`, `false:`},
	{"internal/history/checklane.go", `isTenure(e.Kind) && e.Lane != service:`, `false:`},
	{"internal/history/checklane.go", `(isClients(e.Kind) || isFault(e.Kind)) && `, `isClients(e.Kind) && `},
	{"internal/history/checklane.go", `(isClients(e.Kind) || isFault(e.Kind)) && `, `isFault(e.Kind) && `},
	{"internal/history/checklane.go", `name != LaneLab && name != c.run.LockService()`, `name != LaneLab`},
	{"internal/history/checklane.go", `!asked && !c.run.Unlocked`, `!asked`},
	{"internal/history/checklane.go", `!asked && !c.run.Unlocked`, `false`},
	{"internal/history/checklane.go", `case c.run.Unlocked && e.OfLock():`, `case false:`},
	{"internal/history/checklane.go", `if !storage {`, `if !storage && false {`},
	{"internal/history/checklane.go", `len(c.tenures) == 0 && !refused && `, `!refused && `},
	{"internal/history/checklane.go", ` && !refused && !c.run.Unlocked`, ` && !c.run.Unlocked`},
	{"internal/history/checklane.go", ` && !refused && !c.run.Unlocked`, ` && !refused`},
	{"internal/history/checklane.go", `AsksForLock(e.Op) || e.Op == OpCount)`, `AsksForLock(e.Op))`},
	{"internal/history/checklane.go", `e.Kind == KindFinal && before != 0:`, `false:`},
	{"internal/history/checklane.go", `e.Kind == KindApplied && e.Op != OpRead && before != 0:`, `e.Kind == KindApplied && before != 0:`},
	{"internal/history/checklane.go", `e.Kind == KindApplied && e.Op != OpRead && before != 0:`, `false:`},
	{"internal/history/checktenure.go", `!tellsOf(e, a.first) || e.Mode != a.first.Mode:`, `!tellsOf(e, a.first):`},
	{"internal/history/checktenure.go", `!tellsOf(e, a.first) || e.Mode != a.first.Mode:`, `e.Mode != a.first.Mode:`},
	{"internal/history/checktenure.go", `!c.askers[e.Client] && `, ``},
	{"internal/history/checktenure.go", ` && !c.names[clientTenure{e.Client, e.Tenure}]`, ``},
	{"internal/history/checktenure.go", `(e.Client == "" || e.Client == known.Client) && `, ``},
	{"internal/history/checktenure.go", "(e.Scope == \"\" || e.Scope == known.Scope) &&\n", "true &&\n"},
	{"internal/history/checktenure.go", `e.Token == 0 || known.Token == 0 || e.Token == known.Token`, `e.Token == 0 || e.Token == known.Token`},
	{"internal/history/checktenure.go", `e.Token == 0 || known.Token == 0 || e.Token == known.Token`, `true`},
	{"internal/history/checktenure.go", ` && (e.Mode == fence.Exclusive || e.Mode == known.Mode)`, ``},
	{"internal/history/checktenure.go", "\tcase !tellsOf(e, a.first):\n", "\tcase false:\n"},
	{"internal/history/checktenure.go", `case e.Mode != fence.Exclusive && e.Mode != a.first.Mode:`, `case false:`},
	{"internal/history/checktenure.go", `case !c.canHave(e.Lane, a):`, `case false:`},
	{"internal/history/checktenure.go", `c.session(client) == c.session(a.first.Client) || `, ``},
	{"internal/history/checktenure.go", `c.told[other] != nil && `, ``},
	{"internal/history/checktenure.go", `c.worked[own] && c.worked[other]`, `c.worked[own]`},
	{"internal/history/checktenure.go", `c.worked[own] && c.worked[other]`, `(c.worked[own] || true) && c.worked[other]`},
	{"internal/history/checktenure.go", "\t\twas = was || e.Token == told.Token\n", "\t\t_ = told\n"},
	{"internal/history/checktenure.go", `!was || `, ``},
	{"internal/history/checktenure.go", ` || e.Scope != "" && e.Scope != a.first.Scope {`, ` {`},
	{"internal/history/checktenure.go", `case e.Scope != "" && e.Scope != a.first.Scope && !ofItsKey(e):`, `case false:`},
	{"internal/history/checktenure.go", `isAnswer(e.Kind) && e.Request != "":`, `isAnswer(e.Kind):`},
	{"internal/history/checktenure.go", `len(e.Changes) > 0 && e.Scope == e.Changes[0].Key`, `false`},
	{"internal/history/checktenure.go", `return e.Scope == e.Key`, `return true`},
	{"internal/history/checktenure.go", "\t\tdelete(c.has, e.Lane)\n", "\t\t_ = has\n"},
	{"internal/history/checktenure.go", `return e.Scope == "" || lock == e.Scope`, `return lock == e.Scope`},
	{"internal/history/checktenure.go", `return e.Scope == "" || lock == e.Scope`, `return true`},
	{"internal/history/checktenure.go", `return since.tenure == e.Tenure`, `return true`},
	{"internal/history/checktenure.go", ` || e.RetryOf != "" || `, ` || `},
	{"internal/history/checktenure.go", ` || e.PartOf != "" && e.PartOf != e.Request`, ``},
	{"internal/history/checktenure.go", "\t\tif e.Scope == \"\" {\n\t\t\tfor", "\t\tif false {\n\t\t\tfor"},
	{"internal/history/checkrequest.go", `(told.Key == "" || told.Key == asked.Key) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Value == "" || told.Value == asked.Value || told.Op == OpRead) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Changes == nil || slices.Equal(told.Changes, asked.Changes)) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Tenure == "" || told.Tenure == asked.Tenure) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Scope == "" || told.Scope == asked.Scope) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Token == 0 || told.Token == asked.Token) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Sequence == 0 || told.Sequence == asked.Sequence) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.Mode == fence.Exclusive || told.Mode == asked.Mode) &&`, `(told.Mode == fence.Exclusive || true) &&`},
	{"internal/history/checkrequest.go", `(told.RetryOf == "" || told.RetryOf == asked.RetryOf) &&`, `true &&`},
	{"internal/history/checkrequest.go", `(told.PartOf == "" || told.PartOf == asked.PartOf)`, `true`},
	{"internal/history/checkrequest.go", `(e.Value != applied.Value || e.Missing != applied.Missing)`, `(e.Value != applied.Value)`},
	{"internal/history/checkrequest.go", `(e.Value != applied.Value || e.Missing != applied.Missing)`, `(e.Missing != applied.Missing)`},
	{"internal/history/checkrequest.go", `refused && e.Op == OpRead && applied != nil:`, `false:`},
	{"internal/history/checkrequest.go", `refused && e.Op == OpRead && applied != nil:`, `refused && applied != nil:`},
	{"internal/history/checkrequest.go", `refused && duplicate != nil:`, `false:`},
	{"internal/history/checkrequest.go", `refused && refusal != nil && refusal.Reason != e.Reason:`, `false:`},
	{"internal/history/checkrequest.go", ` && e.Mark != refusal.Mark:`, ` && false:`},
	{"internal/history/checkrequest.go", ` && e.Mark != 0 && refusal.Mark != 0 && `, ` && refusal.Mark != 0 && `},
	{"internal/history/checkrequest.go", ` && e.Mark != 0 && refusal.Mark != 0 && `, ` && e.Mark != 0 && `},
	{"internal/history/checkrequest.go", `e.Client != "" && e.Client != a.invoke.Lane || `, ``},
	{"internal/history/checkrequest.go", ` || e.Tenure != "" && e.Tenure != a.invoke.Tenure:`, `:`},
}

// TestMutationsAreCurrent: each breaks the code that is there.
func TestMutationsAreCurrent(t *testing.T) {
	for _, m := range firstJudgeMutations {
		source, err := os.ReadFile(filepath.Join("../..", m.file))
		if n := strings.Count(string(source), m.text); err != nil || n != 1 {
			t.Errorf("%s has %q %d times, want it once; %v", m.file, m.text, n, err)
		}
	}
}

package judge_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// agreed is a history in which all accounts agree.
var agreed = []string{
	`{"at":0,"lane":"gcsim","kind":"run","run":{"version":2,"tokens":{"c1":"revision","c2":"revision"}}}`,
	`{"at":1,"lane":"c1","kind":"invoke","op":"lock","scope":"/l"}`,
	`{"at":2,"lane":"etcd","kind":"granted","client":"c1","tenure":"T1","scope":"/l","token":"5"}`,
	`{"at":3,"lane":"c1","kind":"ok","op":"lock","client":"c1","tenure":"T1","scope":"/l","token":"5"}`,
	`{"at":4,"lane":"c2","kind":"invoke","op":"lock","scope":"/l"}`,
	`{"at":5,"lane":"etcd","kind":"queued","client":"c2","tenure":"T2","scope":"/l","token":"9"}`,
	`{"at":6,"lane":"c1","kind":"invoke","op":"write","tenure":"T1","request":"r1","scope":"/l","token":"5","sequence":1,"key":"k","value":"1"}`,
	`{"at":7,"lane":"storage","kind":"applied","op":"write","client":"c1","request":"r1","index":1,"scope":"/l","token":"5","mark":"5","sequence":1,"key":"k","value":"1"}`,
	`{"at":8,"lane":"c1","kind":"ok","op":"write","tenure":"T1","request":"r1","scope":"/l","token":"5","sequence":1,"key":"k","value":"1"}`,
	`{"at":9,"lane":"etcd","kind":"ended","client":"c1","tenure":"T1","scope":"/l","cause":"expired"}`,
	`{"at":10,"lane":"c1","kind":"lost","tenure":"T1","scope":"/l","token":"5"}`,
	`{"at":11,"lane":"etcd","kind":"granted","client":"c2","tenure":"T2","scope":"/l","token":"9"}`,
	`{"at":12,"lane":"c2","kind":"ok","op":"lock","tenure":"T2","scope":"/l","token":"9"}`,
	`{"at":13,"lane":"c2","kind":"invoke","op":"read","tenure":"T2","request":"r2","scope":"/l","token":"9","key":"k"}`,
	`{"at":14,"lane":"storage","kind":"applied","op":"read","client":"c2","request":"r2","index":2,"scope":"/l","token":"9","mark":"9","key":"k","value":"1"}`,
	`{"at":15,"lane":"c2","kind":"ok","op":"read","tenure":"T2","request":"r2","scope":"/l","token":"9","key":"k","value":"1"}`,
	`{"at":16,"lane":"c1","kind":"invoke","op":"write","tenure":"T1","request":"r3","scope":"/l","token":"5","sequence":2,"key":"k","value":"2"}`,
	`{"at":17,"lane":"storage","kind":"refused","op":"write","client":"c1","request":"r3","index":3,"scope":"/l","token":"5","mark":"9","sequence":2,"key":"k","value":"2","reason":"stale"}`,
	`{"at":18,"lane":"c1","kind":"fail","op":"write","tenure":"T1","request":"r3","scope":"/l","token":"5","mark":"9","key":"k","value":"2","reason":"stale"}`,
	`{"at":19,"lane":"c2","kind":"invoke","op":"write","tenure":"T2","request":"r4","scope":"/l","token":"9","sequence":1,"key":"k","value":"3"}`,
	`{"at":20,"lane":"storage","kind":"unanswered","op":"write","client":"c2","request":"r4","index":4,"scope":"/l","token":"9","sequence":1,"key":"k","value":"3"}`,
	`{"at":21,"lane":"c2","kind":"unknown","op":"write","tenure":"T2","request":"r4","scope":"/l","token":"9","key":"k","value":"3"}`,
	`{"at":22,"lane":"c2","kind":"invoke","op":"write","tenure":"T2","request":"r5","retry_of":"r4","scope":"/l","token":"9","sequence":1,"key":"k","value":"3"}`,
	`{"at":23,"lane":"storage","kind":"duplicate","op":"write","client":"c2","request":"r5","index":5,"scope":"/l","token":"9","mark":"9","sequence":1,"key":"k","value":"3"}`,
	`{"at":24,"lane":"c2","kind":"unknown","op":"write","tenure":"T2","request":"r5","scope":"/l","token":"9","key":"k","value":"3"}`,
	`{"at":25,"lane":"etcd","kind":"ended","client":"c2","tenure":"T2","scope":"/l","cause":"released"}`,
	`{"at":26,"lane":"storage","kind":"final","key":"k","value":"3"}`,
	`{"at":27,"lane":"gcsim","kind":"end"}`,
}

// change is one change of a history: fields of a line, from 1, get other values, or none;
// with to, the line stands there once more, with these fields. Of several, those without to
// come first.
type change struct {
	line   int
	fields string // JSON; null: none
	to     int
}

func changed(t *testing.T, history []string, changes ...change) []byte {
	t.Helper()
	lines := slices.Clone(history)
	for _, c := range changes {
		fields := make(map[string]any)
		if err := json.Unmarshal([]byte(history[c.line-1]), &fields); err != nil {
			t.Fatal(err)
		}
		more := make(map[string]any)
		if err := json.Unmarshal([]byte(c.fields), &more); err != nil {
			t.Fatal(err)
		}
		maps.Copy(fields, more)
		maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
		if c.to != 0 {
			var there struct{ At int }
			if err := json.Unmarshal([]byte(lines[c.to-1]), &there); err != nil {
				t.Fatal(err)
			}
			fields["at"] = there.At
		}
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if c.to == 0 {
			lines[c.line-1] = string(line)
		} else {
			lines = slices.Insert(lines, c.to-1, string(line))
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// bothSay fails where not both judges find that, and, but for that, the same.
func bothSay(t *testing.T, lines []byte, want secondFinding) {
	t.Helper()
	first, second := firstJudge(lines), secondJudge(lines, nil)
	if !slices.Contains(first.Problems, want) || !slices.Contains(second.Problems, want) || !first.agrees(second) {
		t.Errorf("the first judge: %+v\nthe second: %+v\nwant from both %+v\n%s", first.Problems, second.Problems, want, numbered(lines))
	}
}

// TestFactsThatTwoAccountsShare: for each row of the table, one change of a history in which
// all accounts agree, and both judges name both lines.
func TestFactsThatTwoAccountsShare(t *testing.T) {
	if j := firstJudge(changed(t, agreed)); len(j.Problems) > 0 || !j.agrees(secondJudge(changed(t, agreed), nil)) {
		t.Fatalf("the accounts do not agree: %+v", j.Problems)
	}
	tested := make(map[string]bool)
	for _, tt := range []struct {
		fact   string
		change change
		want   secondFinding
	}{
		{"who tells of tenures", change{3, `{"lane":"redis"}`, 0}, secondFinding{"lane", 3, 1}},
		{"who tells of tenures", change{6, `{"lane":"c2"}`, 0}, secondFinding{"lane", 6, 1}},
		{"who tells of tenures", change{10, `{"lane":"storage"}`, 0}, secondFinding{"lane", 10, 1}},
		{"that nobody asks for a lock", change{1, `{"run":{"version":2,"unlocked":true,"tokens":{"c1":"revision","c2":"revision"}}}`, 0}, secondFinding{"account", 2, 1}},
		{"whose tenure it is", change{3, `{"client":"c2"}`, 0}, secondFinding{"tenure", 4, 3}},
		{"whose tenure it is", change{6, `{"client":"c1"}`, 0}, secondFinding{"tenure", 6, 12}},
		{"whose tenure it is", change{10, `{"client":"c2"}`, 0}, secondFinding{"tenure", 10, 3}},
		{"of which lock", change{6, `{"scope":"/m"}`, 0}, secondFinding{"tenure", 6, 12}},
		{"of which lock", change{10, `{"scope":"/m"}`, 0}, secondFinding{"tenure", 10, 3}},
		{"its number", change{6, `{"token":"8"}`, 0}, secondFinding{"tenure", 6, 12}},
		{"its number", change{10, `{"token":"8"}`, 0}, secondFinding{"tenure", 10, 3}},
		{"whether it is shared", change{6, `{"mode":"shared"}`, 0}, secondFinding{"tenure", 6, 12}},
		{"whether it is shared", change{12, `{"mode":"shared"}`, 0}, secondFinding{"tenure", 6, 12}},
		{"whether it is shared", change{10, `{"mode":"shared"}`, 0}, secondFinding{"tenure", 10, 3}},
		{"that it is granted, or over", change{3, `{}`, 5}, secondFinding{"tenure", 5, 3}},
		{"that it is granted, or over", change{10, `{}`, 12}, secondFinding{"tenure", 12, 10}},
		{"that it is granted, or over", change{10, `{"tenure":"T2"}`, 0}, secondFinding{"tenure", 26, 10}},
		{"who has the lock", change{13, `{"lane":"c1"}`, 0}, secondFinding{"tenure", 13, 12}},
		{"who has the lock", change{13, `{"lane":"c1"}`, 14}, secondFinding{"tenure", 14, 12}},
		{"which lock it has", change{4, `{"scope":"/m"}`, 0}, secondFinding{"tenure", 4, 3}},
		{"which lock it has", change{4, `{"scope":null}`, 0}, secondFinding{"tenure", 4, 3}},
		{"whether it shares the lock", change{4, `{"mode":"shared"}`, 0}, secondFinding{"tenure", 4, 3}},
		{"its token", change{4, `{"token":"6"}`, 0}, secondFinding{"token", 4, 3}},
		{"its token", change{4, `{"token":null}`, 0}, secondFinding{"token", 4, 3}},
		{"what it lost", change{11, `{"scope":"/m"}`, 0}, secondFinding{"tenure", 11, 3}},
		{"with which token", change{11, `{"token":"6"}`, 0}, secondFinding{"tenure", 11, 3}},
		{"under which lock it asks", change{7, `{"scope":"/m"}`, 0}, secondFinding{"tenure", 7, 3}},
		{"under which lock it asks", change{7, `{"op":"unlock","scope":"/m"}`, 0}, secondFinding{"tenure", 7, 3}},
		{"that it has a tenure", change{7, `{"tenure":null}`, 0}, secondFinding{"tenure", 7, 4}},
		{"that it has a tenure", change{14, `{"tenure":null,"scope":null}`, 0}, secondFinding{"tenure", 14, 13}},
		{"by which name a request goes", change{14, `{"request":"r1"}`, 0}, secondFinding{"request", 14, 7}},
		{"what a client asked for", change{9, `{"lane":"c2"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"op":"delete"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"key":"m"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"value":"7"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"changes":[{"key":"k","value":"1"}]}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{19, `{"tenure":"T2"}`, 0}, secondFinding{"request", 19, 17}},
		{"what a client asked for", change{9, `{"scope":"/m"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"token":"6"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"sequence":2}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"mode":"shared"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"retry_of":"r1"}`, 0}, secondFinding{"request", 9, 7}},
		{"what a client asked for", change{9, `{"part_of":"r1"}`, 0}, secondFinding{"request", 9, 7}},
		{"what the storage was asked for", change{8, `{"op":"delete"}`, 0}, secondFinding{"request", 8, 7}},
		{"what the storage was asked for", change{8, `{"key":"m"}`, 0}, secondFinding{"request", 8, 7}},
		{"what the storage was asked for", change{18, `{"value":"7"}`, 0}, secondFinding{"request", 18, 17}},
		{"by which claim", change{8, `{"scope":"/m"}`, 0}, secondFinding{"request", 8, 7}},
		{"by which claim", change{8, `{"token":null}`, 0}, secondFinding{"request", 8, 7}},
		{"by which claim", change{18, `{"sequence":1}`, 0}, secondFinding{"request", 18, 17}},
		{"by which claim", change{15, `{"mode":"shared"}`, 0}, secondFinding{"request", 15, 14}},
		{"by whom, under which tenure", change{8, `{"client":"c2"}`, 0}, secondFinding{"request", 8, 7}},
		{"by whom, under which tenure", change{18, `{"tenure":"T2"}`, 0}, secondFinding{"request", 18, 17}},
		{"what a read found", change{16, `{"value":"7"}`, 0}, secondFinding{"request", 16, 15}},
		{"what a read found", change{16, `{"value":null}`, 0}, secondFinding{"request", 16, 15}},
		{"what a read found", change{16, `{"value":null,"missing":true}`, 0}, secondFinding{"request", 16, 15}},
		{"what a read found", change{15, `{"value":null,"missing":true}`, 0}, secondFinding{"request", 16, 15}},
		{"whether it was refused", change{16, `{"kind":"fail","value":null,"reason":"stale"}`, 0}, secondFinding{"request", 16, 15}},
		{"whether it was refused", change{25, `{"kind":"fail","reason":"invalid"}`, 0}, secondFinding{"request", 25, 24}},
		{"why it was refused", change{19, `{"reason":"missing"}`, 0}, secondFinding{"request", 19, 18}},
		{"by which mark", change{19, `{"mark":"8"}`, 0}, secondFinding{"request", 19, 18}},
		{"whether there was an answer", change{22, `{"kind":"ok"}`, 0}, secondFinding{"request", 22, 21}},
		{"what became of it", change{9, `{"kind":"fail"}`, 12}, secondFinding{"request", 12, 9}},
		{"what became of it", change{8, `{"index":6}`, 26}, secondFinding{"request", 26, 8}},
		{"what became of it", change{8, `{"index":6,"kind":"refused","reason":"stale"}`, 26}, secondFinding{"request", 26, 8}},
		{"the storage's order", change{18, `{"index":2}`, 0}, secondFinding{"index", 18, 15}},
		{"what a key holds at the end", change{27, `{}`, 28}, secondFinding{"final", 28, 27}},
		{"what a key holds at the end", change{27, `{"value":"1"}`, 2}, secondFinding{"final", 9, 2}},
		{"when", change{9, `{"at":6}`, 0}, secondFinding{"time", 9, 8}},
	} {
		tested[tt.fact] = true
		bothSay(t, changed(t, agreed, tt.change), tt.want)
	}
	for _, fact := range factsOfThePage(t) {
		if !tested[fact] {
			t.Errorf("no change is tested for the row %q", fact)
		}
		delete(tested, fact)
	}
	for fact := range tested {
		t.Errorf("the page has no row %q", fact)
	}
}

// factsOfThePage are the rows of the table of facts that two accounts share.
func factsOfThePage(t *testing.T) (facts []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/histories.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| fact | stands in |")
	for i, row := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(row, "| ") {
			if i == 0 {
				t.Error("the table has no rows")
			}
			return facts
		}
		facts = append(facts, strings.Split(row, " | ")[0][2:])
	}
	return facts
}

// without leaves the lines out of which yes is true.
func without(yes func(line string) bool) []string {
	return slices.DeleteFunc(slices.Clone(agreed), yes)
}

// TestMissingAccounts: without one of the three accounts nothing is judged.
func TestMissingAccounts(t *testing.T) {
	in := func(line string, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, name) })
	}
	ofLock := func(line string) bool { return in(line, `"etcd"`, `"lock"`, `"lost"`) }
	var unlocked []string
	for _, line := range without(ofLock) {
		fields := make(map[string]any)
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "tenure")
		delete(fields, "token")
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		unlocked = append(unlocked, string(text))
	}
	for name, tt := range map[string]struct {
		lines []string
		want  secondFinding
	}{
		"nothing at all":               {[]string{agreed[0], agreed[27]}, secondFinding{"account", 2, 0}},
		"the storage alone":            {[]string{agreed[0], agreed[26], agreed[27]}, secondFinding{"account", 3, 0}},
		"the lock service alone":       {without(func(l string) bool { return !in(l, `"etcd"`, `"gcsim"`) }), secondFinding{"account", 7, 0}},
		"a tenure of nobody who asked": {without(func(l string) bool { return in(l, `"lane":"c2"`) }), secondFinding{"tenure", 5, 0}},
		"the clients alone":            {without(func(l string) bool { return in(l, `"etcd"`, `"storage"`) }), secondFinding{"account", 5, 0}},
		"no storage":                   {without(func(l string) bool { return in(l, `"storage"`) }), secondFinding{"account", 7, 0}},
		"no lock service, no tenure":   {unlocked, secondFinding{"account", 2, 0}},
	} {
		t.Run(name, func(t *testing.T) { bothSay(t, changed(t, tt.lines), tt.want) })
	}
	judged := changed(t, unlocked, change{1, `{"run":{"version":2,"unlocked":true,"tokens":{"c1":"none","c2":"none"}}}`, 0})
	if first := firstJudge(judged); len(first.Problems) > 0 || !first.agrees(secondJudge(judged, nil)) {
		t.Errorf("nobody asks for a lock, and the run says so: %+v", first.Problems)
	}
}

// TestNamesOfLanes: no client is called like a lane that is none of a client.
func TestNamesOfLanes(t *testing.T) {
	for _, name := range []string{"storage", "gcsim", "etcd"} {
		as := func(field string) string { return `{"` + field + `":"` + name + `"}` }
		bothSay(t, changed(t, agreed, change{7, as("lane"), 0}), secondFinding{"lane", 7, 0})
		bothSay(t, changed(t, agreed, change{3, as("client"), 0}), secondFinding{"lane", 3, 0})
		bothSay(t, changed(t, agreed, change{1, `{"run":{"version":2,"tokens":{"` + name + `":"none"}}}`, 0}), secondFinding{"lane", 1, 0})
		bothSay(t, changed(t, agreed, change{1, `{"run":{"version":2,"bounds":{"` + name + `":1}}}`, 0}), secondFinding{"lane", 1, 0})
		if name != "etcd" {
			bothSay(t, changed(t, agreed, change{1, `{"run":{"version":2,"service":"` + name + `"}}`, 0}), secondFinding{"lane", 1, 0})
		}
	}
	bothSay(t, changed(t, agreed, change{7, `{"client":"c2"}`, 0}), secondFinding{"lane", 7, 0})
	bothSay(t, changed(t, agreed, change{2, `{"kind":"pause","op":null,"client":"c2"}`, 5}), secondFinding{"lane", 5, 0})
}

// TestTwoClientsOfOneTenure: they share a session, or it is seen that both work in it, or
// the accounts contradict each other.
func TestTwoClientsOfOneTenure(t *testing.T) {
	sessions := change{1, `{"run":{"version":2,"sessions":{"c2":"c1"},"tokens":{"c1":"revision","c2":"revision"}}}`, 0}
	told := change{4, `{"lane":"c2","client":null}`, 8}
	works := []change{
		told,
		{7, `{"lane":"c2","request":"s1","sequence":2}`, 9},
		{8, `{"client":"c2","request":"s1","index":2,"sequence":2}`, 10},
		{15, `{"index":3}`, 0}, {18, `{"index":4}`, 0}, {21, `{"index":5}`, 0}, {24, `{"index":6}`, 0},
	}
	slices.SortStableFunc(works, func(a, b change) int { return a.to - b.to }) // what is changed in its place comes first
	bothSay(t, changed(t, agreed, told), secondFinding{"tenure", 8, 3})
	for name, tt := range map[string]struct {
		changes []change
		verdict string
	}{
		"told, of a session":   {[]change{sessions, told}, "undecided"},
		"both work in it":      {works, "corrupted"},
		"both, of one session": {append([]change{sessions}, works...), "corrupted"},
	} {
		lines := changed(t, agreed, tt.changes...)
		if first := firstJudge(lines); first.Name != tt.verdict || !first.agrees(secondJudge(lines, nil)) {
			t.Errorf("%s: %+v, want %s\n%s", name, first, tt.verdict, numbered(lines))
		}
	}
}

// TestNoContradiction: what real runs have is judged.
func TestNoContradiction(t *testing.T) {
	for name, changes := range map[string][]change{
		"a request after an unlock": {
			{7, `{"tenure":null,"token":null}`, 0}, {8, `{"token":null}`, 0}, {9, `{"tenure":null,"token":null}`, 0},
			{7, `{"op":"unlock","request":null,"key":null,"value":null}`, 7},
		},
		"a key as the scope":                                       {{7, `{"scope":"k"}`, 0}, {8, `{"scope":"k"}`, 0}, {9, `{"scope":"k"}`, 0}},
		"an answer that says no more":                              {{9, `{"tenure":null,"scope":null,"token":null,"sequence":null,"key":"k","value":null}`, 0}},
		"a done write of which its client was told that it failed": {{9, `{"kind":"fail","reason":"stale"}`, 0}},
		"a refused write of which its client was told ok":          {{19, `{"kind":"ok","reason":null,"mark":null}`, 0}},
		"a tenure that ends without a client":                      {{10, `{"client":null,"scope":null}`, 0}},
		"a client that is killed and speaks":                       {{2, `{"kind":"kill","op":null,"scope":null}`, 7}},
		"a read after the end":                                     {{27, `{"kind":"note","key":null,"value":null}`, 0}, {27, `{"value":"1"}`, 14}},
	} {
		lines := changed(t, agreed, changes...)
		if first := firstJudge(lines); len(first.Problems) > 0 || !first.agrees(secondJudge(lines, nil)) {
			t.Errorf("%s: %+v\n%s", name, first.Problems, numbered(lines))
		}
	}
}

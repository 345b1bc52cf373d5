package history_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// good is a history that can be judged, a line an event.
var good = []string{
	`{"at":0,"lane":"gcsim","kind":"run","run":{"version":2,"scenario":"s","title":"t","variant":"v","fencing":true,"lanes":["etcd","c1","c2","storage"],"tokens":{"c1":"revision","c2":"revision"},"expect":{"verdict":"safe"}}}`,
	`{"at":1,"lane":"c1","kind":"invoke","op":"lock","scope":"/lock"}`,
	`{"at":2,"lane":"etcd","kind":"granted","client":"c1","tenure":"T1","scope":"/lock","token":"5"}`,
	`{"at":3,"lane":"c1","kind":"ok","op":"lock","tenure":"T1","scope":"/lock","token":"5"}`,
	`{"at":4,"lane":"c1","kind":"invoke","op":"write","tenure":"T1","request":"c1-1","scope":"/lock","token":"5","sequence":1,"key":"x","value":"1","part_of":"c1-1","changes":[{"key":"x","value":"1"},{"key":"y","value":"1"}]}`,
	`{"at":5,"lane":"storage","kind":"applied","op":"write","client":"c1","request":"c1-1","index":1,"scope":"/lock","token":"5","mark":"5","sequence":1,"key":"x","value":"1"}`,
	`{"at":6,"lane":"c1","kind":"unknown","op":"write","tenure":"T1","request":"c1-1","scope":"/lock","token":"5","key":"x","value":"1"}`,
	`{"at":7,"lane":"c1","kind":"invoke","op":"write","tenure":"T1","request":"c1-2","scope":"/lock","token":"5","sequence":1,"key":"x","value":"1","retry_of":"c1-1","part_of":"c1-1","changes":[{"key":"x","value":"1"},{"key":"y","value":"1"}]}`,
	`{"at":8,"lane":"storage","kind":"duplicate","op":"write","client":"c1","request":"c1-2","index":2,"scope":"/lock","token":"5","mark":"5","sequence":1,"key":"x","value":"1"}`,
	`{"at":9,"lane":"c1","kind":"ok","op":"write","tenure":"T1","request":"c1-2","scope":"/lock","token":"5","key":"x","value":"1"}`,
	`{"at":10,"lane":"c2","kind":"invoke","op":"write","scope":"/lock","key":"x","value":"2"}`,
	`{"at":11,"lane":"c2","kind":"fail","op":"write","scope":"/lock","key":"x","value":"2","reason":"lost"}`,
	`{"at":12,"lane":"c2","kind":"invoke","op":"read","request":"c2-1","scope":"/lock","key":"x"}`,
	`{"at":13,"lane":"storage","kind":"applied","op":"read","client":"c2","request":"c2-1","index":3,"scope":"/lock","key":"x","value":"1"}`,
	`{"at":14,"lane":"c2","kind":"ok","op":"read","request":"c2-1","scope":"/lock","key":"x","value":"1"}`,
	`{"at":15,"lane":"etcd","kind":"ended","client":"c1","tenure":"T1","scope":"/lock","cause":"expired"}`,
	`{"at":16,"lane":"c1","kind":"lost","tenure":"T1","scope":"/lock","token":"5"}`,
	`{"at":17,"lane":"storage","kind":"final","key":"x","value":"1"}`,
	`{"at":18,"lane":"gcsim","kind":"end"}`,
}

// edit changes a line of the good history, from 1: to something else, or, with
// text alone, it puts one before it.
type edit struct {
	line     int
	old, new string
}

func edited(t *testing.T, edits ...edit) string {
	t.Helper()
	lines := slices.Clone(good)
	for _, e := range edits {
		switch {
		case e.old == "" && e.new == "":
			lines[e.line-1] = ""
		case e.old == "":
			lines[e.line-1] = e.new + "\n" + lines[e.line-1]
		case !strings.Contains(lines[e.line-1], e.old):
			t.Fatalf("line %d has no %s", e.line, e.old)
		default:
			lines[e.line-1] = strings.Replace(lines[e.line-1], e.old, e.new, 1)
		}
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	return strings.Join(lines, "\n") + "\n"
}

// none is the edit that removes a line.
func none(line int) edit { return edit{line: line} }

func problems(t *testing.T, text string) []history.Problem {
	t.Helper()
	events, err := history.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return history.Check(events)
}

func TestCheck(t *testing.T) {
	if p := problems(t, edited(t)); p != nil {
		t.Fatalf("the good history: %v", p)
	}
	const tenure, request, index, token, end = history.ProblemTenure, history.ProblemRequest, history.ProblemIndex, history.ProblemToken, history.ProblemEnd
	type want struct {
		kind history.ProblemKind
		line int
		text string
	}
	for name, tt := range map[string]struct {
		edits []edit
		want  []want
	}{
		"at falls": {[]edit{{9, `"at":8`, `"at":6`}}, []want{{history.ProblemTime, 9, "before the line above it (7ns)"}}},

		"no account of the lock service": {[]edit{none(3), none(16)}, []want{
			{tenure, 3, "c1 names the tenure T1, which the lock service neither granted nor queued"},
			{tenure, 4, ""}, {tenure, 6, ""}, {tenure, 7, ""}, {tenure, 9, ""}, {tenure, 15, ""}}},
		"granted names another tenure": {[]edit{{3, "T1", "T2"}, {16, "T1", "T2"}}, []want{
			{tenure, 4, ""}, {tenure, 5, ""}, {tenure, 7, ""}, {tenure, 8, ""}, {tenure, 10, ""}, {tenure, 17, ""}}},
		"granted twice": {[]edit{{5, "", good[2][:6] + `3` + good[2][7:]}}, []want{{tenure, 5, "T1 is granted a second time"}}},
		"ended before it began": {[]edit{none(16), {3, "", `{"at":1,"lane":"etcd","kind":"ended","tenure":"T1","scope":"/lock"}`}}, []want{
			{tenure, 3, "T1 ends, and was not granted before"}}},
		"ended twice":                   {[]edit{{17, "", good[15]}}, []want{{tenure, 17, "T1 ends a second time"}}},
		"a lock of another name":        {[]edit{{4, "/lock", "/other"}}, []want{{tenure, 4, `which is of the lock "/lock"`}}},
		"another's tenure":              {[]edit{{13, `"request":"c2-1"`, `"tenure":"T1","request":"c2-1"`}}, []want{{tenure, 13, "c2 names the tenure T1, and neither stood in the queue for it nor was told that it has it"}}},
		"nobody was told of the tenure": {[]edit{none(4)}, []want{{tenure, 4, "c1 names the tenure T1"}, {tenure, 6, ""}, {tenure, 7, ""}, {tenure, 9, ""}, {tenure, 16, ""}}},
		"queued for, and not granted":   {[]edit{{3, "granted", "queued"}, none(16)}, []want{{tenure, 4, "in T1, which the lock service did not grant"}}},
		"told of a lock, without tenure": {[]edit{{4, `"tenure":"T1",`, ""}}, []want{
			{tenure, 4, "and not in which tenure"}, {tenure, 5, ""}, {tenure, 7, ""}, {tenure, 8, ""}, {tenure, 10, ""}, {tenure, 17, ""}}},

		"applied, and nobody asked":   {[]edit{none(13), none(15)}, []want{{request, 13, `the storage tells of "c2-1", and no client says that it asked for that`}}},
		"told of what had no answer":  {[]edit{{14, `"kind":"applied"`, `"kind":"unanswered"`}}, []want{{request, 15, "the storage gave no answer to that"}}},
		"applied without a request":   {[]edit{{14, `"request":"c2-1",`, ""}}, []want{{request, 14, "has no request"}, {request, 15, "does not have that read"}}},
		"answered without a request":  {[]edit{{15, `"request":"c2-1",`, ""}}, []want{{request, 15, "has no request"}}},
		"answered, and nobody asked":  {[]edit{none(13), none(14)}, []want{{request, 13, "nobody asked"}}},
		"one name for two":            {[]edit{{13, "c2-1", "c1-1"}, {14, "c2-1", "c1-1"}, {15, "c2-1", "c1-1"}}, []want{{request, 13, "against line 5: c2 names its request"}, {request, 14, ""}, {request, 15, ""}}},
		"answered twice":              {[]edit{{16, "", good[14]}}, []want{{request, 16, "answered a second time"}}},
		"answered by another":         {[]edit{{15, `"c2","kind"`, `"c1","kind"`}}, []want{{request, 15, "which is a read of c2"}}},
		"answered as something else":  {[]edit{{15, `"read"`, `"delete"`}}, []want{{request, 15, "a delete, which is a read"}}},
		"another value was asked for": {[]edit{{6, `"value":"1"`, `"value":"2"`}}, []want{{request, 6, "c1 says that it asked for something else"}}},
		"another key was asked for":   {[]edit{{14, `"key":"x"`, `"key":"y"`}}, []want{{request, 14, `the storage tells of "c2-1" as a read of y, and c2 says that it asked for something else`}}},
		"another token was shown":     {[]edit{{6, `"token":"5"`, `"token":"4"`}}, []want{{request, 6, `c1 says that it asked for "c1-1" with the token 5 (sequence 1) in the scope "/lock", exclusive, and the storage was asked with the token 4 (1) in "/lock", exclusive`}}},
		"another scope was shown":     {[]edit{{14, `"scope":"/lock"`, `"scope":"x"`}}, []want{{request, 14, `asked with no token (0) in "x"`}}},
		"another number was shown":    {[]edit{{9, `"sequence":1`, `"sequence":2`}}, []want{{request, 9, "(2) in"}}},
		"another mode was shown":      {[]edit{{14, `"scope"`, `"mode":"shared","scope"`}}, []want{{request, 14, `in the scope "/lock", exclusive, and the storage was asked with no token (0) in "/lock", shared`}}},
		"done twice":                  {[]edit{{7, "", strings.Replace(good[5], `"index":1,`, `"index":2,`, 1)}, {9, `"index":2`, `"index":3`}, {14, `"index":3`, `"index":4`}}, []want{{request, 7, "a second time, as if c1 had sent it again"}}},
		"done and refused": {[]edit{{7, "", strings.Replace(strings.Replace(good[5], `"index":1,`, `"index":2,"reason":"stale",`, 1), "applied", "refused", 1)}, {9, `"index":2`, `"index":3`}, {14, `"index":3`, `"index":4`}},
			[]want{{request, 7, "in several ways, here that it was refused, as if c1 had sent it again"}}},
		"a read refused, and then applied": {[]edit{{14, "", strings.Replace(strings.Replace(good[13], `"index":3,`, `"index":3,"reason":"stale",`, 1), "applied", "refused", 1)}, {14, `"index":3`, `"index":4`}},
			[]want{{request, 15, "in several ways, here that it was applied"}}},
		"a read of which the storage does not tell":    {[]edit{none(14)}, []want{{request, 14, "the storage's account does not have that read"}}},
		"a refusal of which the storage does not tell": {[]edit{none(14), {15, `"kind":"ok"`, `"kind":"fail","reason":"stale"`}}, []want{{request, 14, "was refused (stale), and the storage's account has nothing of it"}}},
		"a retry of nothing":                           {[]edit{{8, `"retry_of":"c1-1"`, `"retry_of":"c1-9"`}}, []want{{request, 8, "no earlier first attempt"}}},
		"a retry of itself":                            {[]edit{{8, `"retry_of":"c1-1"`, `"retry_of":"c1-2"`}}, []want{{request, 8, "no earlier first attempt"}}},
		"a retry of something else":                    {[]edit{{8, `"sequence":1`, `"sequence":2`}, {9, `"sequence":1`, `"sequence":2`}}, []want{{request, 8, "no earlier first attempt"}}},
		"a retry that asks the storage for nothing":    {[]edit{{16, "", `{"at":14,"lane":"c1","kind":"invoke","op":"unlock","tenure":"T1","scope":"/lock","token":"5","retry_of":"c1-1"}`}}, []want{{request, 16, "no earlier first attempt"}}},
		"a part of nothing":                            {[]edit{{8, `"part_of":"c1-1"`, `"part_of":"c2-1"`}}, []want{{request, 8, "no earlier write of c1 begins one"}}},
		"a part that is not in it":                     {[]edit{{5, `"key":"x","value":"1"},`, `"key":"z","value":"1"},`}}, []want{{request, 5, "begins one"}, {request, 8, "first attempt"}, {request, 8, "begins one"}}},

		"a place twice":           {[]edit{{14, `"index":3`, `"index":2`}}, []want{{index, 14, "line 14, against line 9: place 2 of the storage's order"}}},
		"an empty place":          {[]edit{{14, `"index":3`, `"index":5`}}, []want{{index, 14, "nothing has place 4"}}},
		"no first place":          {[]edit{{6, `"index":1`, `"index":4`}}, []want{{index, 9, "nothing has place 1"}}},
		"one without a place":     {[]edit{{14, `"index":3,`, ""}}, []want{{index, 14, "some has none"}}},
		"a place after a restart": {[]edit{{14, "", `{"at":12,"lane":"storage","kind":"restart"}`}}, []want{{index, 15, "nothing has place 2"}}},

		"told another token":          {[]edit{{4, `"5"`, `"6"`}}, []want{{token, 4, "T1: c1 was told the token 6 of a grant with the token 5, want that of the grant"}}},
		"told no token":               {[]edit{{4, `,"token":"5"`, ""}}, []want{{token, 4, "T1: c1 was told no token of a grant with the token 5, want that of the grant"}}},
		"a token of one's own":        {[]edit{{5, `"token":"5"`, `"token":"9"`}, {6, `"token":"5"`, `"token":"9"`}, {7, `"token":"5",`, ``}}, []want{{token, 5, `c1 shows the token 9 under the tenure T1, want that of the grant`}}},
		"a token without tenure":      {[]edit{{13, `"scope"`, `"token":"5","scope"`}, {14, `"scope"`, `"token":"5","scope"`}}, []want{{token, 13, "c2 shows the token 5 under no tenure, want none"}}},
		"a setting that is not there": {[]edit{{1, `"c1":"revision",`, ""}}, []want{{token, 4, `want an entry in the run's "tokens"`}, {token, 5, ""}, {token, 8, ""}}},

		"it stops":                {[]edit{none(19)}, []want{{end, 18, "stops here without an end"}}},
		"something after the end": {[]edit{{19, "", `{"at":18,"lane":"gcsim","kind":"end"}`}}, []want{{end, 19, "something comes after it"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := problems(t, edited(t, tt.edits...))
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i, w := range tt.want {
				if got[i].Kind != w.kind || got[i].Line != w.line || !strings.Contains(got[i].String(), w.text) {
					t.Errorf("got %v, want %v", got[i], w)
				}
			}
		})
	}
}

// TestTokensOfSettings: what a client shows by its setting, and what it does not.
func TestTokensOfSettings(t *testing.T) {
	for _, tt := range []struct {
		setting, token string
		ok             bool
	}{
		{"revision", "5", true}, {"header", "7", true}, {"lease", "77", true}, {"max", "9223372036854775807", true},
		{"revision", "7", false}, {"header", "4", false}, {"max", "5", false}, {"else", "5", false},
		{"none", "", true}, {"none", "5", false}, {"revision", "", false},
	} {
		edits := []edit{{1, `"c1":"revision"`, `"c1":"` + tt.setting + `"`}}
		for _, line := range []int{4, 5, 6, 7, 8, 9, 10, 17} {
			shown := `,"token":"` + tt.token + `"`
			if tt.token == "" {
				shown = ""
			}
			edits = append(edits, edit{line, `,"token":"5"`, shown})
		}
		got := problems(t, edited(t, edits...))
		if ok := len(got) == 0; ok != tt.ok {
			t.Errorf("%s, %s: %v, want ok: %v", tt.setting, tt.token, got, tt.ok)
		}
	}
}

// TestCheckVersion1: what histories of version 1 do not have is not asked of them.
func TestCheckVersion1(t *testing.T) {
	old := func(edits ...edit) string {
		return edited(t, append(edits, edit{1, `"version":2,`, ""}, none(19))...)
	}
	if p := problems(t, old(edit{5, `"token":"5"`, `"token":"9"`}, edit{7, `"token":"5",`, ``})); p != nil {
		t.Error(p)
	}
	if p := problems(t, old(none(3), none(16))); len(p) == 0 || p[0].Kind != history.ProblemTenure {
		t.Errorf("%v, want that the lock service does not tell of the tenure", p)
	}
}

// TestAnswerBeforeQuestion: as a clock that steps back has it.
func TestAnswerBeforeQuestion(t *testing.T) {
	lines := slices.Clone(good)
	lines[12], lines[14] = strings.Replace(lines[14], `"at":14`, `"at":12`, 1), strings.Replace(lines[12], `"at":12`, `"at":14`, 1)
	if p := problems(t, strings.Join(lines, "\n")); p != nil {
		t.Error(p)
	}
}

func TestInvalidError(t *testing.T) {
	err := error(&history.InvalidError{Problems: problems(t, edited(t, none(3), none(16)))})
	want := `the history cannot be judged:
line 3: c1 names the tenure T1, which the lock service neither granted nor queued`
	if !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "\nand 1 more") {
		t.Errorf("got\n%v\nwant\n%s … and 1 more", err, want)
	}
}

// TestLines: what a line alone says wrong.
// wrongLines are what no line can be.
var wrongLines = map[string]struct {
	edit edit
	want string
}{
	"an unknown op":        {edit{5, `"op":"write"`, `"op":"wriet"`}, `line 5 is no event: its kind is "invoke" and its op "wriet": want one of lock, `},
	"the storage's op":     {edit{6, `"op":"write"`, `"op":"change"`}, `its op "change": want one of read, write, delete`},
	"no op":                {edit{15, `"op":"read",`, ""}, `its op ""`},
	"token 0":              {edit{5, `"token":"5"`, `"token":"0"`}, `line 5 is no event: its token is "0"`},
	"mark 0":               {edit{6, `"mark":"5"`, `"mark":"0"`}, `its mark is "0"`},
	"a token as a number":  {edit{5, `"token":"5"`, `"token":5`}, "its token is 5: want a decimal number in quotes"},
	"a huge token":         {edit{5, `"token":"5"`, `"token":"9223372036854775808"`}, `its token is "9223372036854775808"`},
	"an unknown mode":      {edit{5, `"token":"5"`, `"token":"5","mode":"reader"`}, `fence: invalid mode: "reader", want exclusive or shared`},
	"an empty mode":        {edit{5, `"token":"5"`, `"token":"5","mode":""`}, "invalid mode"},
	"an unknown field":     {edit{5, `"key"`, `"kye"`}, `it has a field "kye", which is unknown`},
	"in other letters":     {edit{5, `"tenure"`, `"Tenure"`}, `it has a field "Tenure", which is unknown`},
	"a field of the run":   {edit{1, `"fencing"`, `"fenced"`}, `line 1 is no event: json: unknown field "fenced"`},
	"a field of a change":  {edit{5, `{"key":"y",`, `{"kye":"y",`}, `unknown field "kye"`},
	"a field twice":        {edit{5, `"token":"5"`, `"token":"5","token":"6"`}, `it has the field "token" twice`},
	"null":                 {edit{5, `"tenure":"T1"`, `"tenure":null`}, `its field "tenure" is null`},
	"two events in a line": {edit{2, "}", "}{}"}, "something comes after the event"},
	"an unknown cause":     {edit{16, "expired", "expierd"}, `its cause "expierd": want one of expired, released, revoked`},
	"another's to tell":    {edit{6, `"lane":"storage"`, `"lane":"c1"`}, "that is the storage's to tell"},
	"lost what":            {edit{17, `"tenure":"T1",`, ""}, `its kind is "lost", and it names no tenure`},
	"no key":               {edit{18, `"key":"x",`, ""}, "it names no key"},
	"a place below 0":      {edit{6, `"index":1`, `"index":-1`}, "below 0"},
	"a newer version":      {edit{1, `"version":2`, `"version":3`}, "the history is of version 3, and this gcsim reads those up to 2"},
}

func TestLines(t *testing.T) {
	for name, tt := range wrongLines {
		t.Run(name, func(t *testing.T) {
			_, err := history.Read(strings.NewReader(edited(t, tt.edit)))
			line := new(history.LineError)
			if !errors.As(err, &line) || line.Line != tt.edit.line || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want line %d: %s", err, tt.edit.line, tt.want)
			}
		})
	}
}

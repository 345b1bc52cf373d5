package judge_test

import (
	"strings"
	"testing"
)

// TestJudgesOfUnheardGrants: both judges say the same of grants of which a client does not
// hear.
func TestJudgesOfUnheardGrants(t *testing.T) {
	const (
		run    = `{"at":0,"lane":"gcsim","kind":"run","run":{"version":2,"tokens":{"c1":"none","c2":"none"},"bounds":{"c1":4},"handover":3}}`
		asks   = `{"at":1,"lane":"c1","kind":"invoke","op":"lock","scope":"/l"}`
		grant  = `{"at":2,"lane":"etcd","kind":"granted","client":"c1","scope":"/l","tenure":"a"}`
		waits  = `{"at":2,"lane":"c2","kind":"invoke","op":"lock","scope":"/l"}`
		refuse = `{"at":6,"lane":"c2","kind":"fail","op":"lock","scope":"/l"}`
		late   = `{"at":7,"lane":"c2","kind":"fail","op":"lock","scope":"/l"}`
		end    = `{"at":8,"lane":"gcsim","kind":"end"}`
	)
	for name, tt := range map[string]struct{ unheard, told, want string }{
		"killed, within its bound":   {`{"at":1,"lane":"c1","kind":"kill"}`, refuse, "safe"},
		"killed, beyond its bound":   {`{"at":1,"lane":"c1","kind":"kill"}`, late, "blocked"},
		"stopped, beyond its bound":  {`{"at":1,"lane":"c1","kind":"pause"}`, late, "blocked"},
		"given up, within its bound": {`{"at":2,"lane":"c1","kind":"unknown","op":"lock","scope":"/l"}`, refuse, "safe"},
		"given up, beyond its bound": {`{"at":2,"lane":"c1","kind":"unknown","op":"lock","scope":"/l"}`, late, "blocked"},
		"told":                       {`{"at":2,"lane":"c1","kind":"note"}`, `{"at":3,"lane":"c1","kind":"ok","op":"lock","scope":"/l","tenure":"a"}` + "\n" + late, "safe"},
	} {
		t.Run(name, func(t *testing.T) {
			text := []string{run, asks, grant, tt.unheard, waits, tt.told, end}
			if strings.Contains(tt.unheard, `"at":1,`) { // it comes before the grant
				text[2], text[3] = text[3], text[2]
			}
			lines := []byte(strings.Join(text, "\n") + "\n")
			if first, second := firstJudge(lines), secondJudge(lines, nil); first.Name != tt.want || !first.same(second) {
				t.Errorf("the first judge says %+v, and the second one %+v, want %s", first, second, tt.want)
			}
		})
	}
}

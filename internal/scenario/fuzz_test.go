package scenario_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
)

// FuzzParse: whatever the file holds, there is a whole scenario or an error that
// names the file, no panic, and no more memory than 64 MiB. What is taken, the schema
// takes too.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/good.yaml", "testdata/full.yaml", "../../scenarios/etcd/02-gc-pause-real.yaml"} {
		f.Add([]byte(text(f, file)))
	}
	f.Add(scenario.Template("x"))
	for _, block := range strings.Split(text(f, "testdata/stories.txt"), "\n\n")[1:] {
		tale, _, _ := strings.Cut(block, "\n=> ")
		f.Add([]byte(story(tale)))
	}
	f.Add([]byte("steps: [{gcsim: pause client1}, {: }]"))
	f.Add([]byte(strings.Replace(text(f, "testdata/good.yaml"), "- client1: lock", `- "": lock`, 1)))
	f.Add([]byte("clients: &a {c: *a}"))
	for _, deep := range []string{
		"title: " + strings.Repeat("[", 32) + strings.Repeat("]", 32), strings.Repeat("[", 65400), strings.Repeat("- ", 32700), strings.Repeat("{a: ", 16000),
		strings.Repeat("? ", 32700), "[" + strings.Repeat(":,", 32700), "clients: {" + strings.Repeat("a,", 32000) + "}", strings.Repeat("&a ", 21000),
	} {
		f.Add([]byte(deep))
	}
	published := schema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := language.Parse("s.yaml", "s", data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Fatalf("%d bytes take %d MiB", len(data), took>>20)
		}
		if (s == nil) == (err == nil) {
			t.Fatalf("got %v and %v", s, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		controls := 0
		for _, v := range s.Variants {
			if v.Control {
				controls++
			}
			if len(v.Steps) == 0 || v.Expect.Verdict == "" || len(v.Clients) != len(s.Clients) {
				t.Fatalf("incomplete: %+v", v)
			}
			for _, step := range v.Steps {
				if _, client := v.Clients[step.Actor]; !client && !slices.Contains([]string{scenario.ActorLab, v.World.Service, scenario.ActorClients}, step.Actor) {
					t.Fatalf("nobody does %+v", step)
				}
			}
		}
		if s.Title == "" || controls > 1 {
			t.Fatalf("incomplete: %+v", s)
		}
		// Some values, like .inf, are none in JSON.
		if doc, err := inJSON(string(data)); err == nil {
			if err := published.Validate(doc); err != nil {
				t.Fatalf("the schema refuses what the parser takes: %v", err)
			}
		}
	})
}

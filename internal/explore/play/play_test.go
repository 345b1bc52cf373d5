package play

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/frames"
)

// pair is a world of two clients that can be paused.
func pair(fence string) tale.World {
	client := model.Client{Look: model.LookBegin}
	second := client
	second.Session = 1
	return tale.World{
		Settings: model.Settings{Clients: []model.Client{client, second}, Keys: 1, Queue: true, Fence: fence, Faults: model.Pause},
		Names:    model.Names{Service: "etcd", Clients: []string{"client1", "client2"}, Keys: []string{"key0"}, Changed: 1},
		Lock:     "/lock", Run: history.Run{Title: "A pair"},
	}
}

func answer[T any](t *testing.T, asks string, w tale.World, path ...string) (answer T) {
	t.Helper()
	question, err := json.Marshal(Question{Asks: asks, World: w, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Answer(question, func(explore.Found) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestHarmIsFoundAndShown(t *testing.T) {
	w := pair(model.FenceOff)
	harm := answer[Way](t, AsksHarm, w)
	s := answer[State](t, AsksState, w, harm.Path...)
	harmful := slices.ContainsFunc(s.Frames, func(f frames.Frame) bool { return f.Harm })
	if s.Verdict.Name != history.Corrupted || s.Verdict.Fate == "" || len(s.Verdict.Why) == 0 || !harmful {
		t.Errorf("%q is %+v", harm.Path, s.Verdict)
	}
	shown := fmt.Sprint(s.Frames, s.Verdict, s.Picture)
	if times := regexp.MustCompile(`\d µs|\d ms|\d\.\d{3}`).FindString(shown); times != "" {
		t.Errorf("the model has no time, and its story says %q", times)
	}
	if !slices.Equal(s.Steps, harm.Path) || !strings.Contains(s.Picture, "<figure><svg") {
		t.Errorf("%q shows the steps %q, and the picture %.40s", harm.Path, s.Steps, s.Picture)
	}
	if found := answer[Way](t, AsksHarm, pair(model.FenceOn)); len(found.Path) > 0 || found.Depth == 0 {
		t.Errorf("where tokens are checked, there is %+v", found)
	}
}

// TestChoices: each choice is a button, and it is said which ones lead to harm.
func TestChoices(t *testing.T) {
	w := pair(model.FenceOff)
	all := answer[Way](t, AsksHarm, w).Path
	path, last := all[:len(all)-1], all[len(all)-1]
	s, ways := answer[State](t, AsksState, w, path...), answer[[]Way](t, AsksLeads, w, path...)
	if len(ways) != len(s.Choices) || len(ways) < 3 {
		t.Fatalf("%d choices and %d ways", len(s.Choices), len(ways))
	}
	for _, c := range s.Choices {
		i := slices.IndexFunc(ways, func(w Way) bool { return w.Step == c.Step })
		if i < 0 {
			t.Fatalf("%q has no way", c.Step)
		}
		longer := ways[i].Path
		if atOnce := len(longer) == len(all); atOnce != (c.Step == last) {
			t.Errorf("after %q comes %q, whose way is %q", path, c.Step, longer)
		}
		if len(longer) == 0 {
			continue
		}
		if end := answer[State](t, AsksState, w, longer...).Verdict.Name; longer[len(path)] != c.Step || end != history.Corrupted {
			t.Errorf("the way of %q is %q, which is %s", c.Step, longer, end)
		}
	}
	if s.Lacks == "" {
		t.Error("nothing says what the model lacks")
	}
}

// TestHand: the planned step comes first. The buttons have plain words, and what is said about the forms.
func TestHand(t *testing.T) {
	path := []string{"client1: lock", "client1: begin write key0=from-client1"}
	question, err := json.Marshal(Question{
		Asks: AsksState, World: pair(model.FenceOff), Path: path, Plan: []string{"gcsim: pause client1"},
		Abouts: map[string]string{"gcsim: pause CLIENT": "It gets a SIGSTOP."},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Answer(question, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if s.Guide == nil || s.Guide.Step != "gcsim: pause client1" || s.Guide.Words != "STOP" || s.Guide.Client != "client1" || s.Guide.About != "It gets a SIGSTOP." {
		t.Errorf("the guide is %+v", s.Guide)
	}
	main := map[string]string{}
	for _, c := range s.Choices {
		if c.Main {
			main[c.Client] += c.Words
		}
	}
	if want := map[string]string{"client1": "write now", "client2": "take the lock"}; !maps.Equal(main, want) {
		t.Errorf("the clients are likely to do %v, want %v", main, want)
	}
}

// TestOpenEnd: while a client stands in the middle of something, the story has no end.
func TestOpenEnd(t *testing.T) {
	s := answer[State](t, AsksState, pair(model.FenceOff), "client1: lock", "client1: begin write key0=from-client1")
	if f := s.Frames[len(s.Frames)-1]; f.Clients[0].Believes == 0 || strings.Contains(f.Text, "key0") {
		t.Errorf("it shows %+v", f)
	}
	if s.Verdict.Name != history.Safe {
		t.Errorf("the verdict is %q", s.Verdict.Name)
	}
}

func TestBadQuestions(t *testing.T) {
	for _, c := range []struct {
		q    Question
		want string
	}{
		{Question{Asks: "tea", World: pair(model.FenceOn)}, `"tea"`},
		{Question{Asks: AsksState, World: pair(model.FenceOn), Path: []string{"client1: lokc"}}, `line 1, "client1: lokc", is no step`},
		{Question{Asks: AsksHarm, World: pair(model.FenceOn), Path: []string{"client1: lock", "client2: finish"}}, `line 2, "client2: finish", cannot come`},
	} {
		text, err := json.Marshal(c.q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Answer(text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := Answer([]byte("{"), nil); err == nil {
		t.Error("half a question was answered")
	}
}

// TestWebAssembly: a browser can have the program, and does not wait long for it.
func TestWebAssembly(t *testing.T) {
	const most = 2_500_000 // bytes, compressed
	program := filepath.Join(t.TempDir(), "play.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes, %d compressed", len(text), small.Len()); small.Len() > most {
		t.Errorf("%d bytes, compressed: want %d at most", small.Len(), most)
	}
}

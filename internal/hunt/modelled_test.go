package hunt

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
)

// TestFromModel: real processes tell the model's stories as the model does, and a model that is wrong is found out.
func TestFromModel(t *testing.T) {
	hunted := func(change func(*World)) Report {
		w := worldOf(t, "sqlite/01-token-file/fenced")
		if err := w.FromModel(); err != nil {
			t.Fatal(err)
		}
		change(w)
		h := New(Options{Worlds: []*World{w}, Stories: 24, Side: 8, Seed: 1, Until: 1})
		h.Run(t.Context())
		return h.Report()
	}
	if r := hunted(func(*World) {}); r.Stories != 24 || len(r.Findings) > 0 {
		t.Errorf("%d stories, %v; found %+v", r.Stories, r.Err, r.Findings)
	}
	r := hunted(func(w *World) {
		for i := range w.model.Settings.Clients {
			w.model.Settings.Clients[i].Token = model.TokenNone
		}
	})
	if len(r.Findings) == 0 {
		t.Fatal("a model whose clients show no tokens is like the real ones")
	}
	f := r.Findings[0]
	if !strings.HasPrefix(f.Kind, Unlike) || f.Seen == 0 || f.Small != nil {
		t.Errorf("found %s in %d of %d runs, %d steps are left", f.Kind, f.Seen, f.Again, len(f.Small))
	}
	text, err := f.File()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := language.Parse("found.yaml", "found", text); err != nil || s.Variants[0].Expect.WantedVerdict() != f.World.modelled.verdict {
		t.Errorf("the file does not expect what the model says, %v:\n%s", err, text)
	}
}

// TestUnlike: what could not be seen differs from nothing.
func TestUnlike(t *testing.T) {
	m := &modelled{history.Safe, []string{"one"}}
	for _, tt := range []struct {
		verdict, answer, want string
	}{
		{history.Safe, "one", ""},
		{history.Undecided, "other", ""},
		{history.Blocked, "one", "unlike: blocked"},
		{history.Safe, "other", "unlike: answers"},
	} {
		if got, _ := m.unlike(tt.verdict, []string{tt.answer}); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.verdict, tt.answer, got, tt.want)
		}
	}
}

// TestUnlikeWeighs: a story that the model tells in another way ends a hunt, also where the model's verdict only blocks.
func TestUnlikeWeighs(t *testing.T) {
	f := &Finding{World: &World{modelled: &modelled{verdict: history.Blocked}}, Kind: Unlike + ": " + history.Safe}
	if f.rank() != 1 || f.verdict() != history.Blocked {
		t.Errorf("it weighs %d, and its file expects %s", f.rank(), f.verdict())
	}
}

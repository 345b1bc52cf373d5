package hand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said are choices as "words: text", and those that are main with a star.
func said(choices []Choice) (list []string) {
	for _, c := range choices {
		line := c.Words + ": " + c.Text
		if c.Main {
			line = "*" + line
		}
		list = append(list, line)
	}
	return list
}

// TestOrder: what a client is likely to do comes first, in plain words; of the same words one is main.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		stand Stand
		guide string
		begun string
		steps string
		want  []string
	}{
		{"who has no lock takes it", Stand{}, "", "", "queue,lock,gcsim: pause c", []string{"*take the lock: lock", "take the lock: queue", "STOP: pause c"}},
		{"who would wait queues", Stand{Taken: true}, "", "", "lock,queue", []string{"*take the lock: queue", "take the lock: lock"}},
		{"where there is no queue, it waits", Stand{Taken: true}, "", "", "trylock,lock", []string{"*take the lock: lock", "take the lock if it is free: trylock"}},
		{"who waits can leave", Stand{Queued: true}, "", "", "read k,leave", []string{"*stop waiting: leave", "read: read k"}},
		{"the holder writes, one key of two", Stand{Believes: true}, "", "", "unlock,write a=1,write b=1,begin write a=1",
			[]string{"*get ready to write: begin write a=1", "*write: write a=1", "write: write b=1", "let go of the lock: unlock"}},
		{"what was begun is named", Stand{Begun: true, Believes: true}, "", "write a=1", "finish", []string{"*write now: finish"}},
		{"the guide comes first, in place of the same words", Stand{Believes: true}, "c: write a=planned", "", "begin write a=1,write a=1,read a",
			[]string{"*write: write a=planned", "*get ready to write: begin write a=1", "read: read a"}},
		{"a planned fault stays with the faults", Stand{Believes: true}, "gcsim: pause c", "", "gcsim: pause c,write a=1", []string{"*write: write a=1", "STOP: pause c"}},
	} {
		var choices []Choice
		for text := range strings.SplitSeq(c.steps, ",") {
			if !strings.Contains(text, ": ") {
				text = "c: " + text
			}
			choices = append(choices, New(text, "c", "", c.begun))
		}
		var guide *Guide
		if c.guide != "" {
			guide = &Guide{Choice: New(c.guide, "c", "", "")}
		}
		if diff := cmp.Diff(c.want, said(Order(choices, map[string]Stand{"c": c.stand}, guide))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestWhy: a guide has plain words for what happens, else what is said about the step.
func TestWhy(t *testing.T) {
	if c := New("c: lock", "c", "It waits for the lock.", ""); c.Why != "It asks the lock service, and gets a lease." || c.About != "It waits for the lock." || c.Fault {
		t.Errorf("%+v", c)
	}
	if c := New("etcd: await expiry of c", "c", "The client's lease has run out.", ""); c.Why != "Nobody renews it, so it runs out." {
		t.Errorf("%+v", c)
	}
	if c := New("c: await loss", "c", "It is told.", ""); c.Words != "wait until it is told of its loss" || c.Why != "It is told." {
		t.Errorf("%+v", c)
	}
	if c := New("gcsim: kill c", "c", "Kills the client.", ""); c.Why != "Kills the client." || c.Words != "kill c" || !c.Fault {
		t.Errorf("%+v", c)
	}
}

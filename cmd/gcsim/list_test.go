package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestList: each scenario is named so that run and explain find it again, below its service.
func TestList(t *testing.T) {
	list, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := gcsim(t, "list")
	for _, s := range list {
		if !strings.Contains(all, "\n  "+id(s)+" ") || !strings.Contains(all, " "+shortName(s.Name)+" ") || !strings.Contains(all, s.Title+"\n") {
			t.Errorf("no %s in\n%s", called(s), all)
		}
		if found := meant(list, id(s)); found != s {
			t.Errorf("%s means %v", id(s), found)
		}
	}
	if !strings.HasPrefix(all, "etcd\n  etcd/1   gc-pause ") || !strings.Contains(all, "\n\nredis\n  redis/1   setnx-crash ") {
		t.Errorf("got\n%s", all)
	}
	if _, own, _ := gcsim(t, "list", "redis"); !strings.HasPrefix(own, "redis\n  redis/1 ") || !strings.Contains(all, own) {
		t.Errorf("redis: got\n%s", own)
	}
}

func TestListIsNoWiderThanTheTerminal(t *testing.T) {
	list, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{50, 80} {
		var out bytes.Buffer
		tellList(&output{Writer: &out}, list, width)
		for line := range strings.Lines(out.String()) {
			if ansi.StringWidth(strings.TrimRight(line, "\n")) >= width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}

func TestListAsJSON(t *testing.T) {
	var got []entry
	_, out, _ := gcsim(t, "list", "--json", "lockfile")
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 2 {
		t.Fatalf("%v:\n%s", err, out)
	}
	if e := got[0]; e.ID != "lockfile/1" || e.Service != "lockfile" || e.Scenario != "01-stale-file" || e.Title == "" || len(e.Variants) != 2 || e.Variants[0] != (variantEntry{"unfenced", true}) {
		t.Errorf("got %+v", e)
	}
}

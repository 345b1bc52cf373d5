package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestCompared: each lock has its row, with all figures; one whose server is missing is named,
// with what brings the server.
func TestCompared(t *testing.T) {
	b := startBench(t)
	if err := b.compared(); err != nil {
		t.Fatal(err)
	}
	text := b.report.markdown()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			if _, after, lacks := strings.Cut(text, "Not measured is "+k.name+": "); lacks {
				bring, _, _ := strings.Cut(after, ".")
				need.Missing(t, "a server of "+k.name, "to compare it", bring)
			}
			_, row, _ := strings.Cut(text, "\n| "+k.name+" | ")
			row, _, _ = strings.Cut(row, "\n")
			if cells := strings.Split(row, " | "); len(cells) != 6 || strings.Contains(row, "NaN") || cells[1] != k.bareIs {
				t.Errorf("its row is %q", row)
			}
		})
	}
}

// TestCrash: a lock that is granted while its holder lives is no lock.
func TestCrash(t *testing.T) {
	b := startBench(t)
	sqlite := kinds()[5]
	where, _, err := sqlite.start(b)
	if err != nil {
		t.Fatal(err)
	}
	s := &sides{kind: sqlite, where: where}
	if took, err := b.crash(s, "/crash"); err != nil || took <= 0 {
		t.Errorf("got %v, %v", took, err)
	}
	broken := *sqlite
	broken.open = func(string, time.Duration) (lock.Backend, func(), error) {
		return locktest.NewMemory(crashTTL).Open(), func() {}, nil // it knows nothing of the holder
	}
	if _, err := b.crash(&sides{kind: &broken, where: where}, "/crash"); !errors.Is(err, errNotOurs) {
		t.Errorf("got %v, want %v", err, errNotOurs)
	}
}

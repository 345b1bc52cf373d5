package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestCompared: each lock has its row, with all figures; one whose server is missing is named,
// with what brings the server.
func TestCompared(t *testing.T) {
	need.Night(t, "to measure all locks")
	b := startBench(t)
	measure(t, b, compared)
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
	need.Time(t, "to wait for the ends of leases")
	b := startBench(t)
	sqlite := kinds()[5]
	s := b.launch(sqlite.start)
	var took time.Duration
	err := fail.Caught(func() { took = b.crash(way{sqlite.name, sqlite.open, s, false, lockTTL}, "/crash") })
	if err != nil || took <= 0 {
		t.Errorf("got %v, %v", took, err)
	}
	ignorant := func(string, time.Duration) (locking, func()) {
		return lockingBy(locktest.NewMemory(crashTTL).Open()), func() {} // it knows nothing of the holder
	}
	err = fail.Caught(func() { b.crash(way{sqlite.name, ignorant, s, false, lockTTL}, "/crash") })
	if !errors.Is(err, errNotOurs) {
		t.Errorf("got %v, want %v", err, errNotOurs)
	}
}

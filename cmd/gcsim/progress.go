package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// silence is how long nothing is printed before a progress says what goes on.
const silence = 2 * time.Second

// progress is a line on a terminal that says what goes on while nothing else is
// printed. It is rewritten in place, and gone at the end.
type progress struct {
	w       io.Writer
	silence time.Duration
	width   func() int
	line    func() string

	mu    sync.Mutex
	since time.Time // of the silence
	shown string
	stop  chan struct{}
	over  sync.WaitGroup
}

// newProgress shows on w what line says, until end; nothing where w is no terminal.
func newProgress(w io.Writer, line func() string) *progress {
	p := &progress{w: io.Discard, silence: silence, line: line, since: time.Now(), stop: make(chan struct{})}
	if !onTerminal(w) || os.Getenv("TERM") == "dumb" {
		return p
	}
	f := w.(term.File)
	p.w = w
	p.width = func() int {
		width, _, err := term.GetSize(f.Fd())
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
	p.over.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			p.show()
			select {
			case <-tick.C:
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// onTerminal reports whether w, or what is read from, is a terminal.
func onTerminal(w any) bool {
	f, ok := w.(term.File)
	return ok && term.IsTerminal(f.Fd())
}

// eraseLine goes to the beginning of the line, and erases it.
const eraseLine = "\r" + ansi.EraseLineRight

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.since) < p.silence {
		return
	}
	if line := ansi.Truncate(p.line(), p.width()-1, "..."); line != p.shown {
		p.shown = line
		fmt.Fprint(p.w, eraseLine+line)
	}
}

// print lets something else be printed: the line is out of its way meanwhile.
func (p *progress) print(other func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.w, eraseLine)
	p.shown = ""
	other()
	p.since = time.Now()
}

// end removes the line.
func (p *progress) end() {
	close(p.stop)
	p.over.Wait()
	fmt.Fprint(p.w, eraseLine)
}

// progress says how far the runs are, and which are under way, the longest first.
func (p *pool) progress(all int, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := slices.SortedFunc(maps.Keys(p.running), func(a, b *job) int { return p.running[a].Compare(p.running[b]) })
	var names []string
	for _, j := range oldest {
		names = append(names, fmt.Sprintf("%s %s %.0f s", j.scenario.Name, j.variant.Name, now.Sub(p.running[j]).Seconds()))
	}
	said := fmt.Sprintf("%d of %d runs done", p.over, all)
	if len(names) > 0 {
		said += fmt.Sprintf("; %d going on: %s", len(names), strings.Join(names, ", "))
	}
	return said
}

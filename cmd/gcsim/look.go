package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

// look says what runs are to look like as text.
type look struct {
	ascii bool
	width int
}

func (l *look) flags(f *pflag.FlagSet) {
	f.BoolVar(&l.ascii, "ascii", false, "draw with ASCII only (default: where the locale has no UTF-8)")
	f.IntVar(&l.width, "width", 0, "columns of a line (default: those of the terminal, or what COLUMNS says)")
}

// on is how to draw on w.
func (l look) on(w io.Writer) (terminal.Options, error) {
	o := terminal.Detect(w, os.Environ())
	switch {
	case l.width != 0 && (l.width < terminal.MinWidth || l.width > terminal.MaxWidth):
		return o, fmt.Errorf("want --width from %d to %d, got %d", terminal.MinWidth, terminal.MaxWidth, l.width)
	case l.width != 0:
		o.Width = l.width
	}
	o.ASCII = o.ASCII || l.ascii
	return o, nil
}

// pace is how fast a story is told: as it comes, or event by event once it is over.
type pace struct {
	step, fast bool
	slow       time.Duration
}

func (p *pace) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.step, "step", false, "wait for Enter before each event is told")
	f.DurationVar(&p.slow, "slow", 0, "wait so long before each event is told")
	f.Lookup("slow").NoOptDefVal = "1.5s"
	f.BoolVar(&p.fast, "fast", false, "tell all as it comes (default, but gcsim without a command tells slowly, on a terminal, what comes all at once)")
}

// set reports whether events are told one by one.
func (p pace) set() bool { return p.step || p.slow != 0 }

// wait returns what waits before each event; nil: nothing does.
func (p pace) wait(cmd *cobra.Command) (func(story.Row) error, error) {
	switch {
	case !p.set() && !p.fast && !cmd.HasParent() && onTerminal(cmd.OutOrStdout()):
		return decisive(cmd.Context()), nil
	case p.step && p.slow != 0:
		return nil, errors.New("--step and --slow: choose one")
	case p.slow < 0:
		return nil, fmt.Errorf("want --slow of more than 0, got %v", p.slow)
	case p.step && !onTerminal(cmd.InOrStdin()):
		return nil, errors.New("--step waits for Enter, and standard input is no terminal: leave it out, or take --slow")
	case p.step:
		prompt := io.Discard
		if w := cmd.ErrOrStderr(); onTerminal(w) {
			prompt = w
		}
		next := steps(cmd.Context(), cmd.InOrStdin(), prompt)
		return func(story.Row) error { return next() }, nil
	case p.slow > 0:
		return func(story.Row) error { return wait(cmd.Context(), p.slow) }, nil
	}
	return nil, nil
}

// readable is how long an event of the first story stands alone, of those that come all at once.
const readable = 700 * time.Millisecond

// decisive waits before what happens from the end of a lease on, until somebody is stopped again.
func decisive(ctx context.Context) func(story.Row) error {
	over := false
	return func(r story.Row) error {
		if over = over && r.Class != story.ClassPause || r.Class == story.ClassExpiry; over {
			return wait(ctx, readable)
		}
		return nil
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if !sleep.For(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// steps returns what waits for a line of in. It asks for it on prompt, and removes
// the question again. At the end of in nothing waits any more.
func steps(ctx context.Context, in io.Reader, prompt io.Writer) func() error {
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- struct{}{}
		}
	}()
	ended := false
	return func() error {
		if ended {
			return ctx.Err()
		}
		fmt.Fprint(prompt, "Enter: go on")
		select {
		case _, more := <-lines:
			if ended = !more; more { // the terminal has gone to the next line
				fmt.Fprint(prompt, ansi.CursorUp(1))
			}
			fmt.Fprint(prompt, eraseLine)
			return ctx.Err()
		case <-ctx.Done():
			fmt.Fprint(prompt, eraseLine)
			return ctx.Err()
		}
	}
}

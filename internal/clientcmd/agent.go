package clientcmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/lock"
)

func agentCommand(c *config) *cobra.Command {
	a := agent{config: c}
	a.news = sync.NewCond(&a.mu)
	var help strings.Builder
	for _, v := range a.verbs() {
		fmt.Fprintf(&help, "  %-21s %s\n", v.usage(), v.help)
	}
	return &cobra.Command{
		Use:   "agent",
		Short: "Obey commands on standard input, report what happens as JSON lines",
		Long: `agent obeys commands, a line each, and reports what it does and what becomes
of it on standard output: events as in a history of gcsim, a JSON line each, but
for their times, which are nanoseconds since 1970. At the end of its input it
releases the lock.

A write shows the token of the last grant, also after the lock was lost: only
"unlock" or a new "lock" makes the agent forget it.

` + help.String(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.connect(cmd, true)
			if err != nil {
				return err
			}
			defer s.close()
			a.services, a.out = s, cmd.OutOrStdout()
			in := cmd.InOrStdin()
			if f, ok := in.(*os.File); ok && term.IsTerminal(f.Fd()) {
				fmt.Fprintln(cmd.ErrOrStderr(), `type a command, such as lock or write key0=hello; "help" lists them, Ctrl-D ends`)
			}
			return a.run(cmd.Context(), in)
		},
	}
}

type agent struct {
	*config
	*services

	mu    sync.Mutex // of what follows
	out   io.Writer
	err   error      // of the first line that could not be written
	begun *begun     // a write that was begun and not finished
	news  *sync.Cond // there is none any more

	requests int   // how many were sent
	held     *held // the last grant; nil: none, or it was unlocked
	watchers sync.WaitGroup
	heap     heap
}

// begun is a write by a client that has looked whether it holds the lock and
// does not look again. What it learns of the lock meanwhile it reports after the
// write.
type begun struct{ key, value string }

// held is a tenure and whether the agent let go of it by itself.
type held struct {
	lock.Tenure
	released atomic.Bool
}

func (h *held) lost() bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// run obeys until the input or ctx ends.
func (a *agent) run(ctx context.Context, in io.Reader) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan string)
	go readLines(reading, in, lines)
	a.note("ready")
	for a.broken() == nil {
		select {
		case line, more := <-lines:
			if more {
				a.obey(ctx, line)
				continue
			}
		case <-ctx.Done():
		}
		break
	}
	a.forget()
	if a.held != nil && !a.held.lost() {
		a.unlock(context.WithoutCancel(ctx))
	}
	a.watchers.Wait()
	return a.broken()
}

// readLines sends lines until r ends; an error ends it as well as its end does.
func readLines(ctx context.Context, r io.Reader, lines chan<- string) {
	defer close(lines)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// verb is a command of the agent.
type verb struct {
	name, arg, help string
	run             func(ctx context.Context, arg string) error // an error means that nothing was done
}

func (v verb) usage() string { return strings.TrimSpace(v.name + " " + v.arg) }

// alone makes a verb's run of what needs no argument and reports by itself.
func alone(f func(context.Context)) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error { f(ctx); return nil }
}

func (a *agent) verbs() []verb {
	return []verb{
		{"lock", "", "wait for the lock", alone(a.lock)},
		{"trylock", "", "take the lock if it is free", alone(a.tryLock)},
		{"unlock", "", "release the lock and forget its grant", alone(a.unlock)},
		{"read", "KEY", "read a key", a.read},
		{"write", "KEY=VALUE", "write a key", a.write},
		{"delete", "KEY", "delete a key", a.delete},
		{"begin", "write KEY=VALUE", "look whether the lock is held, and stand right before the write", a.begin},
		{"finish", "", "do the write that was begun, without looking again", func(ctx context.Context, _ string) error { return a.finish(ctx) }},
		{"status", "", "say what is held", alone(a.status)},
		{"load", "DURATION", "fill the heap until a collection stops this program so long; do it before lock", a.load},
		{"gc", "", "stop this program by a garbage collection (needs " + stopTheWorld + ")", a.gc},
		{"help", "", "say this", alone(a.help)},
	}
}

func (a *agent) obey(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	err := fmt.Errorf("unknown command %q, want one of: %s", name, a.usages())
	for _, v := range a.verbs() {
		if v.name != name {
			continue
		}
		switch {
		case a.hasBegun() && name != "finish" && name != "gc":
			err = fmt.Errorf("%s: a write was begun, finish it first", name)
		case !utf8.ValidString(line):
			err = fmt.Errorf("%s: its argument is not UTF-8", name) // and JSON would change it
		case v.arg == "" && strings.TrimSpace(arg) != "":
			err = fmt.Errorf("%q stands alone, %q is too much", name, arg)
		case v.arg != "" && strings.TrimSpace(arg) == "":
			err = fmt.Errorf("%s what? want %q", name, v.usage())
		default:
			err = v.run(ctx, arg)
		}
	}
	if err != nil {
		a.report(history.Event{Kind: history.KindError, Text: err.Error()})
	}
}

func (a *agent) usages() string {
	var list []string
	for _, v := range a.verbs() {
		list = append(list, v.usage())
	}
	return strings.Join(list, ", ")
}

func (a *agent) help(context.Context) { a.note("commands: " + a.usages()) }

func (a *agent) note(text string) { a.report(history.Event{Kind: history.KindNote, Text: text}) }

func (a *agent) report(e history.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.print(e)
}

// print writes an event as one line; the caller holds a.mu. At is now, unless it
// is known better.
func (a *agent) print(e history.Event) {
	if e.At == 0 {
		e.At = time.Duration(time.Now().UnixNano())
	}
	e.Lane, e.Client = a.name, a.name
	if a.err == nil {
		a.err = history.Write(a.out, []history.Event{e})
	}
}

// broken is why nobody can read the reports any more; nil while they can.
func (a *agent) broken() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

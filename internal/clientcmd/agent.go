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
	"unicode/utf8"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
)

func agentCommand(c *config) *cobra.Command {
	a := newAgent(c)
	var help strings.Builder
	for _, v := range a.verbs() {
		fmt.Fprintf(&help, "  %-23s %s\n", v.usage(), v.help)
	}
	cmd := &cobra.Command{
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
			if err := a.check(); err != nil {
				return usage(cmd, err)
			}
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
	a.habits.add(cmd.Flags())
	return cmd
}

type agent struct {
	*config
	habits
	*services

	mu       sync.Mutex // of what follows
	out      io.Writer
	err      error      // of the first line that could not be written
	standing bool       // before a write; what it learns of the lock meanwhile it reports after the write
	news     *sync.Cond // it stands no more
	unknown  *request   // the last one whose outcome is not known, for a retry

	asked atomic.Int64 // requests to the storage
	sends sync.WaitGroup

	lines    chan string // of the input
	held     *held       // the last grant, or a place in the queue; nil: none, or it was unlocked
	queue    *queue      // nil: it does not wait for the lock in the background
	begun    []*request  // that finish will do
	sequence int64       // of the last write under held
	kept     *session    // the last that was opened for more than one tenure
	sessions []*session  // all such
	watchers sync.WaitGroup
	heap     heap
}

func newAgent(c *config) *agent {
	a := &agent{config: c, habits: newHabits(), lines: make(chan string)}
	a.news = sync.NewCond(&a.mu)
	return a
}

// run obeys until the input or ctx ends.
func (a *agent) run(ctx context.Context, in io.Reader) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go readLines(reading, in, a.lines)
	a.note("ready")
	for a.broken() == nil {
		select {
		case line, more := <-a.lines:
			if more {
				a.obey(ctx, line)
				continue
			}
		case got := <-a.queue.over():
			a.leaveQueue(ctx, got)
			continue
		case <-ctx.Done():
		}
		break
	}
	a.end(context.WithoutCancel(ctx))
	return a.broken()
}

// end leaves nothing behind in etcd.
func (a *agent) end(ctx context.Context) {
	a.goOn()
	if a.queue != nil {
		a.queue.cancel()
		over, cancel := context.WithCancel(ctx)
		cancel()
		a.leaveQueue(over, <-a.queue.over())
	}
	if a.held != nil && !a.held.lost() {
		_ = a.unlock(ctx, "")
	}
	for _, s := range a.sessions {
		_ = s.close(ctx) // else the lease runs out
	}
	a.watchers.Wait()
	a.sends.Wait() // each is bounded by a timeout
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
	name, arg, help string                                      // an arg in brackets may be left out
	run             func(ctx context.Context, arg string) error // an error means that nothing was done
}

func (v verb) usage() string { return strings.TrimSpace(v.name + " " + v.arg) }

func (a *agent) verbs() []verb {
	return []verb{
		{"lock", "[in LEASE]", "wait for the lock, for --timeout at most; in the session of a lease (hexadecimal) that there is", a.lock},
		{"trylock", "[in LEASE]", "take the lock if it is free; in a session like lock", a.tryLock},
		{"queue", "", "wait for the lock in the background, in a place in the queue", a.enqueue},
		{"wait", "", "wait, for --timeout at most, for the lock that was queued for", a.wait},
		{"unlock", "", "release the lock and forget its grant", a.unlock},
		{"read", "KEY", "read a key", a.read},
		{"write", "KEY=VALUE", "write a key", a.now(a.writes)},
		{"delete", "KEY", "delete a key", a.now(a.deletes)},
		{"change", "KEY=VALUE...", "write several keys, whose values have no spaces", a.now(a.changes)},
		{"begin", "write|change ...", "look whether the lock is held, and stand right before the (last) write", a.begin},
		{"finish", "", "do what was begun, without looking again", a.finish},
		{"send", "write|... ...", "do a write, delete, change or retry in the background, over a connection of its own", a.send},
		{"retry", "", "do the last write or unlock of unknown outcome once more", a.retry},
		{"count", "KEY N [I,J...]", "add 1 to a key, N times, under a lock each; stand before the I-th, J-th write", a.count},
		{"status", "", "say what is held", a.status},
		{"load", "DURATION", "fill the heap until a collection stops this program so long; do it before lock", a.load},
		{"gc", "", "stop this program by a garbage collection (needs " + stopTheWorld + ")", a.gc},
		{"help", "", "say this", a.help},
	}
}

// whileStanding are the commands that do not mind that a write was begun.
var whileStanding = map[string]bool{"finish": true, "send finish": true, "gc": true}

func (a *agent) obey(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	err := fmt.Errorf("unknown command %q, want one of: %s", name, a.usages())
	for _, v := range a.verbs() {
		if v.name != name {
			continue
		}
		switch {
		case a.stands() && !whileStanding[strings.TrimSpace(line)]:
			err = fmt.Errorf("%s: a write was begun, finish it first", name)
		case !utf8.ValidString(line):
			err = fmt.Errorf("%s: its argument is not UTF-8", name) // and JSON would change it
		case v.arg == "" && strings.TrimSpace(arg) != "":
			err = fmt.Errorf("%q stands alone, %q is too much", name, arg)
		case v.arg != "" && v.arg[0] != '[' && strings.TrimSpace(arg) == "":
			err = fmt.Errorf("%s what? want %q", name, v.usage())
		default:
			err = v.run(ctx, arg)
		}
	}
	a.complain(err)
}

func (a *agent) usages() string {
	var list []string
	for _, v := range a.verbs() {
		list = append(list, v.usage())
	}
	return strings.Join(list, ", ")
}

func (a *agent) help(context.Context, string) error {
	a.note("commands: " + a.usages())
	return nil
}

func (a *agent) status(context.Context, string) error {
	e := a.about()
	e.Kind = history.KindNote
	switch {
	case a.held == nil:
		e.Text = "holds nothing"
	case a.held.lost():
		e.Text = fmt.Sprintf("lost %s, which it held with token %d", e.Scope, e.Token)
	case a.queue != nil:
		e.Text = fmt.Sprintf("waits for %s with token %d", e.Scope, e.Token)
	default:
		e.Text = fmt.Sprintf("holds %s with token %d", e.Scope, e.Token)
	}
	a.report(e)
	return nil
}

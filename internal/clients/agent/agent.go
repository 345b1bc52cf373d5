// Package agent is a lock client that obeys commands, a line each, and reports
// events, a JSON line each. docs/agent.md describes its protocol.
package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// Protocol is the version of the protocol that docs/agent.md describes.
const Protocol = "1"

type Config struct {
	Name     string         // in its events and request IDs
	Scope    string         // the lock that it takes where a command names none
	Settings setting.Values // those of setting.Client, and of the service
	Locks    service.Client
	// Storage is nil where the data lies in the lock service: Locks is a service.Store then.
	Storage *kvhttp.Client
	// AskedBefore is how many requests a client of that name has sent before: the IDs go on from there.
	AskedBefore uint64
	// Sender makes a connection to the storage for one "send". nil: there is no storage.
	Sender func() (*kvhttp.Client, error)
	Words  io.Writer // where people read what happens
	Heap   Heap      // the heap of another process, which does what the client asks for; nil: this process's
}

// Limited is a service.Client that does not do all that agents are told.
type Limited interface {
	// Limit is why it does not do what a command, or that part of one, needs; nil: it does.
	Limit(command string) error
}

type agent struct {
	Config
	timeout time.Duration // of one request

	mu       sync.Mutex // of what follows
	out      io.Writer
	err      error      // of the first line that could not be written
	standing bool       // before a write; what it learns of the lock meanwhile it reports after the write
	news     *sync.Cond // it stands no more
	unknown  *request   // the last one whose outcome is not known, for a retry
	asked    uint64     // requests to the storage, by this and by AskedBefore

	sends sync.WaitGroup

	lines     chan string      // of the input
	held      []*held          // grants and places in queues, of each lock the last; in their order
	places    []*held          // that it waits in in the background
	over      chan ended       // how these waits end
	begun     []*request       // that finish will do
	half      *halfway         // likewise
	sequences map[string]int64 // lock → that of the last write under it
	watchers  sync.WaitGroup
}

// Run obeys the commands on in until it or ctx ends, and reports on out.
func Run(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	a := &agent{
		Config: c, timeout: c.Settings.Time(setting.Timeout), asked: c.AskedBefore, out: out,
		lines: make(chan string), over: make(chan ended), sequences: make(map[string]int64),
	}
	a.news = sync.NewCond(&a.mu)
	if a.Heap == nil {
		a.Heap = new(heap)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go readLines(reading, in, a.lines)
	a.report(history.Event{Kind: history.KindNote, Key: "protocol", Value: Protocol, Text: "ready"})
	for a.broken() == nil {
		select {
		case line, more := <-a.lines:
			if more {
				a.obey(ctx, line)
				continue
			}
		case end := <-a.over:
			a.leaveQueue(ctx, end)
			continue
		case <-ctx.Done():
		}
		break
	}
	a.end(context.WithoutCancel(ctx))
	return a.broken()
}

// Help says what each command does, a line each.
func Help() string {
	var help strings.Builder
	for _, v := range new(agent).verbs() {
		fmt.Fprintf(&help, "  %-37s %s\n", v.usage(), v.help)
	}
	return help.String()
}

// end leaves nothing behind in the lock service, but for what Locks.Close ends.
func (a *agent) end(ctx context.Context) {
	if a.half != nil {
		a.finishLock(ctx)
	}
	a.goOn()
	a.leaveQueues(ctx)
	for _, h := range slices.Backward(slices.Clone(a.held)) {
		if !h.lost() {
			a.release(ctx, h.lock)
		}
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

type verb struct {
	name, arg, help string                                      // an arg in brackets may be left out
	run             func(ctx context.Context, arg string) error // an error means that nothing was done
}

func (v verb) usage() string { return strings.TrimSpace(v.name + " " + v.arg) }

func (a *agent) verbs() []verb {
	return []verb{
		{"lock", "[NAME] [within TIME] [in TENURE]", "wait for the lock, for that time or --timeout at most; in the session of another client's tenure", a.taking(history.OpLock)},
		{"trylock", "[NAME] [in TENURE]", "take the lock if it is free; in a session like lock", a.taking(history.OpTryLock)},
		{"queue", "[NAME]", "wait for the lock in the background, in a place in the queue", a.enqueue},
		{"wait", "[NAME] [within TIME]", "wait, for that time or --timeout at most, for the lock that was queued for", a.wait},
		{"leave", "[NAME]", "give up the place in the queue for the lock", a.giveUp},
		{"unlock", "[NAME]", "release the lock and forget its grant", a.unlock},
		{"read", "KEY [under NAME]", "read a key", a.now(history.OpRead)},
		{"write", "KEY=VALUE [under NAME]", "write a key", a.now(history.OpWrite)},
		{"delete", "KEY [under NAME]", "delete a key", a.now(history.OpDelete)},
		{"change", "KEY=VALUE... [under NAME]", "write several keys, whose values have no spaces", a.now(history.OpChange)},
		{"begin", "write|... ...", "stand right before a write, delete, read, unlock, or the last write of a change, and look before a change whether the lock is held; or stand in the middle of a lock", a.begin},
		{"finish", "", "do what was begun, without looking again", a.now("finish")},
		{"send", "write|... ...", "do a write, delete, change or retry in the background, over a connection of its own", a.send},
		{"retry", "", "do the last write or unlock of unknown outcome once more", a.now("retry")},
		{"count", "KEY N [I,J...]", "add 1 to a key, N times, under a lock each; stand before the I-th, J-th write", a.count},
		{"status", "", "say what is held, lock by lock", a.status},
		{"load", "DURATION", "fill the heap until a collection stops this program so long; do it before lock", a.load},
		{"gc", "", "stop this program by a garbage collection (needs " + stopTheWorld + ")", a.gc},
		{"help", "", "say this", a.help},
	}
}

// whileStanding are the commands that do not mind that something was begun.
var whileStanding = map[string]bool{"finish": true, "send finish": true, "gc": true}

func (a *agent) obey(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	verbs := a.verbs()
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	switch {
	case i < 0:
		a.complain(fmt.Errorf("unknown command %q, want one of: %s", name, a.usages()))
	case a.stands() && !whileStanding[strings.TrimSpace(line)]:
		a.complain(fmt.Errorf("%s: something was begun, finish it first", name))
	case !utf8.ValidString(line):
		a.complain(fmt.Errorf("%s: its argument is not UTF-8", name)) // and JSON would change it
	case verbs[i].arg == "" && strings.TrimSpace(arg) != "":
		a.complain(fmt.Errorf("%q stands alone, %q is too much", name, arg))
	case verbs[i].arg != "" && verbs[i].arg[0] != '[' && strings.TrimSpace(arg) == "":
		a.complain(fmt.Errorf("%s what? want %q", name, verbs[i].usage()))
	default:
		a.complain(verbs[i].run(ctx, arg))
	}
}

func (a *agent) usages() string {
	var list []string
	for _, v := range a.verbs() {
		list = append(list, v.usage())
	}
	return strings.Join(list, ", ")
}

func (a *agent) help(context.Context, string) error {
	a.report(history.Event{Kind: history.KindNote, Text: "commands: " + a.usages()})
	return nil
}

func (a *agent) status(context.Context, string) error {
	if len(a.held) == 0 {
		a.report(history.Event{Kind: history.KindNote, Scope: a.Scope, Text: "holds nothing"})
	}
	for _, h := range a.held {
		text := "holds %s with token %d"
		switch {
		case h.lost():
			text = lostText
		case h.waits():
			text = "waits for %s with token %d"
		}
		a.note(h.lock, "", fmt.Sprintf(text, h.lock, a.about(h.lock).Token))
	}
	return nil
}

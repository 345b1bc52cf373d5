// Package agentcheck plays dialogues with a client that is a program of the user's, at a real
// lock service and a real storage, and says what it gets wrong of the agent's protocol.
package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agent"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

type Options struct {
	Command  []string // of the client: a program, and its first arguments
	Service  *service.Service
	Settings setting.Values // that the client is told, beside the defaults
	World    setting.Values // settings of the lock service's servers, beside the defaults
	Exe      string         // a program that has the lab's roles
	Patience time.Duration  // for how long an answer is waited for
	Only     []string       // names of checks, beside the first; nil: all
	Tell     func(Result)   // is told of each check when it is over; nil: nobody is
}

const (
	Holds     = "holds"
	Fails     = "fails"
	LeftOut   = "left out"   // it is about what the client does not do, and need not
	NotJudged = "not judged" // the client was never ready
)

type Result struct {
	Check   string   `json:"check"`
	Doc     string   `json:"doc"` // what a client does, in a sentence
	Outcome string   `json:"outcome"`
	Why     string   `json:"why,omitempty"`
	Said    []string `json:"said,omitempty"` // the end of the dialogue: "> " what the client was told, "< " what it said
}

type Report struct {
	Command []string `json:"command"`
	Results []Result `json:"checks"`
}

func (r Report) Count(outcome string) (n int) {
	for _, result := range r.Results {
		if result.Outcome == outcome {
			n++
		}
	}
	return n
}

func (r Report) Summary() string {
	return fmt.Sprintf("agent-check: %d held, %d failed, %d left out, %d not judged", r.Count(Holds), r.Count(Fails), r.Count(LeftOut), r.Count(NotJudged))
}

func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		OK      bool   `json:"ok"`
		Summary string `json:"summary"`
		Report
	}{r.Count(Fails)+r.Count(NotJudged) == 0, r.Summary(), r})
}

// Text writes what came of a check: a row of the table, and the dialogue that shows what is wrong.
func (r Result) Text(w io.Writer) error {
	var out strings.Builder
	outcome := r.Outcome
	if outcome == Fails {
		outcome = "FAILS"
	}
	fmt.Fprintf(&out, "%-10s %-20s %s\n", outcome, r.Check, r.Doc)
	if r.Why != "" {
		fmt.Fprintf(&out, "%11s%s\n", "", strings.ReplaceAll(r.Why, "\n", "\n           "))
	}
	if r.Outcome == Fails && len(r.Said) > 0 {
		fmt.Fprintf(&out, "%11sthe end of the dialogue:\n", "")
		for _, line := range r.Said {
			fmt.Fprintf(&out, "%13s%s\n", "", line)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

type check struct {
	name, doc string
	ttl       time.Duration // of the client's lease
	timeout   time.Duration // of its requests; 0: as it is set
	optional  bool          // a client need not do what it is about
	run       func(*trial)
}

type judge struct {
	Options
	stage *stage.Stage
	shows string // what the client shows as its token, as in history.Run.Tokens
}

// Judge checks a client. An error says why it cannot be checked at all.
func Judge(ctx context.Context, o Options) (report Report, err error) {
	report.Command = o.Command
	list, err := chosen(o.Only)
	if err != nil {
		return report, err
	}
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return report, err
	}
	known := slices.Concat(setting.Client, o.Service.Client)
	if o.Settings, err = setting.Complete(known, o.Settings); err != nil {
		return report, err
	}
	if o.World, err = setting.Complete(o.Service.World, o.World); err != nil {
		return report, err
	}
	if err := o.clash(); err != nil {
		return report, err
	}
	j := &judge{Options: o, shows: o.Service.Shows(o.Settings)}
	var locks []string
	for _, c := range list {
		locks = append(locks, lockOf(c))
	}
	if j.stage, err = stage.Open(ctx, o.Exe, o.Service, o.World, nil, locks); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, j.stage.Close()) }()
	fencing := scenario.FencingOn
	if j.shows == history.ShowsNone {
		fencing = scenario.FencingOff
	}
	if err := j.stage.StartStorage("--fencing", fencing); err != nil {
		return report, err
	}
	for i, c := range list {
		r := Result{Check: c.name, Doc: c.doc, Outcome: NotJudged, Why: "the client was not ready"}
		if i == 0 || report.Results[0].Outcome == Holds {
			r = j.judge(ctx, c)
		}
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		report.Results = append(report.Results, r)
		if o.Tell != nil {
			o.Tell(r)
		}
	}
	return report, nil
}

func (o Options) clash() error {
	check := o.Service.Check
	if check == nil {
		return nil
	}
	client := scenario.Client{Lock: "/lock", Command: scenario.Command{Words: o.Command}, Values: o.Settings}
	c := check(scenario.World{Service: o.Service.Name, Settings: o.World}, map[string]scenario.Client{"client": client})
	if c == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", c.Setting, c.Text)
}

// chosen are the first check, which all others need, and those with these names.
func chosen(names []string) ([]check, error) {
	if names == nil {
		return checks, nil
	}
	list := checks[:1:1]
	for _, name := range names {
		i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no check %q: want a name as in the table of all checks", name)
		case i > 0:
			list = append(list, checks[i])
		}
	}
	return list, nil
}

func lockOf(c check) string { return "/" + strings.ToLower(c.name) }

// maxSaid is how many lines of a dialogue a result shows.
const maxSaid = 8

// judge makes one check, with processes of its own.
func (j *judge) judge(ctx context.Context, c check) Result {
	r := Result{Check: c.name, Doc: c.doc, Outcome: Holds}
	t := &trial{judge: j, ctx: ctx, check: c, lock: lockOf(c), asked: make(map[string]bool)}
	err := fail.Caught(func() { c.run(t) })
	for _, client := range t.clients {
		client.end()
	}
	var unable *unableError
	switch {
	case c.optional && errors.As(err, &unable):
		r.Outcome, r.Why = LeftOut, err.Error()
	case err != nil:
		r.Outcome, r.Why, r.Said = Fails, err.Error(), t.said[max(0, len(t.said)-maxSaid):]
	}
	return r
}

// trial is a dialogue with a client, or with several. What goes wrong ends the dialogue.
type trial struct {
	*judge
	ctx     context.Context
	check   check
	lock    string
	clients []*client
	said    []string
	asked   map[string]bool // requests of which clients have told
	puts    int
}

// failf ends the dialogue, as fail.If does where there is an error.
func failf(format string, args ...any) { fail.If(fmt.Errorf(format, args...)) }

type client struct {
	trial   *trial
	name    string
	process *proc.Process
	reader  *agent.Reader
	lines   chan line // closed after the last
	lost    []history.Event
}

// line is one that a client said; err: it said no more, or too much.
type line struct {
	text []byte
	err  error
}

// start starts the client that is checked, and awaits that it is ready. askedBefore is as in agent.Args.
func (t *trial) start(askedBefore int) *client {
	return t.launch(strings.ToLower(t.check.name), askedBefore, t.command)
}

func (t *trial) command(name string, args []string) (*proc.Process, error) {
	return t.stage.Group().StartCommand(name, nil, t.Command, args...)
}

// other starts a second client: one of gcsim's own, if gcsim has one for the lock service.
func (t *trial) other() *client {
	if t.Service.Dial == nil {
		return t.launch("other", 0, t.command)
	}
	return t.launch("other", 0, func(name string, args []string) (*proc.Process, error) {
		return t.stage.Group().Start(name, nil, append([]string{"client", "agent"}, args...)...)
	})
}

func (t *trial) launch(name string, askedBefore int, start func(string, []string) (*proc.Process, error)) *client {
	settings := maps.Clone(t.Settings)
	settings[setting.TTL] = fmt.Sprintf("%ds", t.check.ttl/time.Second)
	if t.check.timeout > 0 {
		settings[setting.Timeout] = t.check.timeout.String()
	}
	endpoints, err := t.stage.Servers.Endpoints(t.ctx, settings)
	fail.If(err)
	told := t.Service.Tells(name, map[string]scenario.Client{name: {Lock: t.lock, Values: settings}})
	args := agent.Args{
		Name: name, Service: t.Service.Name, Endpoints: endpoints, Lock: t.lock, ConnectTimeout: t.Patience, AskedBefore: askedBefore,
		Storage: t.stage.Storage, SendStorage: t.stage.Storage,
		Known: slices.Concat(setting.Client, t.Service.Client), Settings: told,
	}
	c := &client{trial: t, name: name, reader: &agent.Reader{Client: name, Began: time.Now()}, lines: make(chan line)}
	c.process, err = start(name, args.List())
	fail.If(err)
	t.clients = append(t.clients, c)
	go c.read()
	c.next("") // the reader knows what it must be
	return c
}

// TTLs of the client's lease: one that is not to run out in a check, and one that is.
const (
	long  = 60 * time.Second
	short = time.Second
)

// checks are all, in their order. The first one is about what all others need.
var checks = []check{
	{name: "SaysReady", doc: `its first event is a note with the key "protocol" and the version "1"`, ttl: long, run: func(t *trial) { t.start(0) }},
	{name: "UnknownIsAnError", doc: "a command that it does not know is answered by one event of kind error, and it goes on", ttl: long, run: unknownIsAnError},
	{name: "LinesAreTrimmed", doc: "empty lines are skipped, and a carriage return at the end of a line is dropped", ttl: long, run: linesAreTrimmed},
	{name: "InvokeComesFirst", doc: "it writes invoke before it asks, and the outcome when it has the answer", ttl: long, run: invokeComesFirst},
	{name: "TenureIsTheServices", doc: "tenure and token are the same as in the lock service's own account", ttl: long, run: tenureIsTheServices},
	{name: "HeldIsHeld", doc: "a lock that it holds is not taken twice: reason held, or the same tenure", ttl: long, run: heldIsHeld},
	{name: "RequestIsSent", doc: "the request of an invoke goes to the storage as X-Request-Id, with scope, token, key and value, once", ttl: long, run: requestIsSent},
	{name: "RequestsAreUnique", doc: "no request comes twice, also in a process that takes the place of a killed one", ttl: long, run: requestsAreUnique},
	{name: "ValuesAreWhole", doc: "a value is written and read as it is, and a read says what is missing", ttl: long, run: valuesAreWhole},
	{name: "BeginStands", doc: "after begin write it stands: nothing goes to the storage before finish", ttl: long, run: beginStands},
	{name: "LateWriteIsSent", doc: "stopped before a write until its lease ran out, it writes with its old token, and says what the storage answered", ttl: short, run: lateWriteIsSent},
	{name: "LossIsTold", doc: "when its lease is over it says lost, with the tenure; if it stands, after the outcome of what it had begun", ttl: short, run: lossIsTold},
	{name: "LateUnlockFreesNothing", doc: "its unlock after its lease ran out leaves the lock to the next holder", ttl: 3 * short, optional: true, run: lateUnlockFreesNothing},
	{name: "UnlockFrees", doc: "unlock ends the tenure, and later writes show no token", ttl: long, run: unlockFrees},
	{name: "WaitEnds", doc: "lock within a time fails after that time, and leaves the queue", ttl: long, run: waitEnds},
	{name: "TryTakesIfFree", doc: "trylock takes a lock that is free, and does not wait for one that is not", ttl: long, optional: true, run: tryTakesIfFree},
	{name: "QueueWaits", doc: "queue asks for the lock, and wait waits for it, for so long at most", ttl: long, optional: true, run: queueWaits},
	{name: "DeleteIsSent", doc: "delete goes to the storage with scope and token, and the key is gone", ttl: long, optional: true, run: deleteIsSent},
	{name: "ChangeIsSent", doc: "change writes all its keys, with scope and token", ttl: long, optional: true, run: changeIsSent},
	{name: "SendIsInBackground", doc: "what it sends has its invoke at once, and its outcome when the answer comes; other commands are obeyed meanwhile", ttl: long, optional: true, run: sendIsInBackground},
	{name: "RetryAsksAgain", doc: "retry makes the request of unknown outcome once more, with its token and an ID of its own, and names the first one", ttl: long, timeout: short, optional: true, run: retryAsksAgain},
	{name: "CountAdds", doc: "count adds 1 so many times, each under a lock of its own", ttl: long, optional: true, run: countAdds},
	{name: "EndReleases", doc: "at the end of its input it releases its lock, and ends with status 0", ttl: long, run: func(t *trial) {
		t.ends(func(c *client) error { return c.process.Stdin.Close() })
	}},
	{name: "TermReleases", doc: "at SIGTERM it does the same", ttl: long, run: func(t *trial) {
		t.ends(func(c *client) error { return c.process.Signal(syscall.SIGTERM) })
	}},
}

func unknownIsAnError(t *trial) {
	c := t.start(0)
	const unknown = "fly to the moon"
	c.tell(unknown)
	if e := c.next(unknown); e.Kind != history.KindError || e.Text == "" {
		failf("it answers %q by an event of kind %q and the text %q, want the kind error with a text that says what is wrong", unknown, e.Kind, e.Text)
	}
	c.ok("lock")
}

func linesAreTrimmed(t *trial) {
	c := t.start(0)
	c.tell("\r\n")
	if a := c.ok("lock\r"); a.outcome.Scope != t.lock {
		failf("it takes the lock %q, want %q", a.outcome.Scope, t.lock)
	}
}

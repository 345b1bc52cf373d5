// Package locklaws judges a lock service that is not ours by the laws of locktest, through a protocol of lines, and by
// what it says of its tenures: docs/your-lock-service.md.
package locklaws

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/custom"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// Options of Judge.
type Options struct {
	Command string        // of the lock service, a line for sh
	Exe     string        // a program that has the janitor's role
	Timeout time.Duration // of a request
	Only    []string      // names of the laws; nil: all
	Tell    func(laws.Report, laws.Result)
}

const (
	short     = time.Second      // TTLs: one that runs out in a law,
	long      = 10 * time.Second // and one that outlasts a restart of the lock service
	slack     = 2 * time.Second
	tolerance = 50 * time.Millisecond  // of a lease's time, for clocks that are read in coarse steps
	lastWords = 300 * time.Millisecond // the kernel may tell of a process's end last
	deadline  = 5 * time.Minute        // of a law
	together  = 8                      // laws that wait are judged side by side
)

type law struct {
	name, doc string
	waits     bool // for the end of a lease
	alone     bool // no other law is judged meanwhile
	ttl       time.Duration
	check     func(context.Context, *trial) error
}

// list has all laws, in the order in which they are told.
func list() (all []law) {
	ofLines := func(name string, check func(context.Context, *trial, *client) error, doc string) law {
		return law{name: name, doc: doc, ttl: short, check: func(ctx context.Context, t *trial) error {
			c := t.open()
			defer c.Close()
			return check(ctx, t, c.Backend.(*client))
		}}
	}
	all = append(all,
		ofLines("a grant is said", grantsAreSaid,
			"Its line is written before the client is answered, with the token that the client is told."),
		ofLines("a release is said", releasesAreSaid,
			"Its line is written before the client is answered, with the cause released."),
		ofLines("a renewal is the tenure's", renewalsAreTheTenures,
			"The renewal of a tenure that is over is answered by gone, and changes nothing."))
	expiry := ofLines("an expiry is said", expiriesAreSaid,
		"Its line comes when the lease is over, also where nobody asks, with the cause expired, and then the lock is free.")
	expiry.waits = true
	all = append(all, expiry)
	for _, l := range locktest.Laws {
		check := func(ctx context.Context, t *trial) error { return l.Check(ctx, t.subject()) }
		one := law{name: l.Name, doc: l.Doc, waits: l.Waits && !l.Restarts, alone: l.Restarts, ttl: short, check: check}
		if l.Restarts && !l.Waits {
			one.ttl = long
		}
		all = append(all, one)
	}
	story := ofLines("the lines are one story", allIsOneStory,
		"No tenure is granted during another one of the same lock, and to nobody who was told that the lock is held.")
	story.alone, story.ttl = true, long
	return append(all, story)
}

func chosen(names []string) ([]law, error) {
	all := list()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(l law) bool { return l.name == name }) {
			return nil, fmt.Errorf("there is no law %q for a lock service: without --law all are judged, each by its name", name)
		}
	}
	return slices.DeleteFunc(all, func(l law) bool { return names != nil && !slices.Contains(names, l.name) }), nil
}

type judge struct {
	command string
	server  *program.Server
	timeout time.Duration
	said    *said
	tokens  bool // it gives tokens
	renews  bool
}

// trial is the judgement of one law, and what was asked and answered in it last.
type trial struct {
	*judge
	ttl   time.Duration
	mu    sync.Mutex
	asked int
	lines []string
}

// milliseconds are those of the TTL, in a request.
func (t *trial) milliseconds() string { return fmt.Sprint(t.ttl.Milliseconds()) }

func (t *trial) note(question, answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	t.lines = append(t.lines, fmt.Sprintf("%.200s -> %.80s", question, answer))
	t.lines = t.lines[max(0, len(t.lines)-laws.MaxRequests):]
}

func (t *trial) subject() locktest.Subject {
	return locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) { return t.open(), nil },
		Restart: func(ctx context.Context) error {
			if err := t.server.Kill(); err != nil {
				return err
			}
			return t.server.Start(ctx)
		},
		TTL: t.ttl, Slack: slack, NoToken: !t.tokens, FixedLease: !t.renews,
	}
}

// Judge judges a lock service. An error says why it cannot be judged at all.
func Judge(ctx context.Context, o Options) (report laws.Report, err error) {
	all, err := chosen(o.Only)
	if err != nil {
		return report, err
	}
	g, err := proc.NewGroup(o.Exe)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	j := &judge{command: o.Command, timeout: o.Timeout}
	j.said = &said{path: filepath.Join(g.Dir, "said"), account: custom.NewAccount(time.Now()), answers: make(map[string]string)}
	if j.server, err = program.New(g, "lock service", o.Command, filepath.Join(g.Dir, "files")); err != nil {
		return report, err
	}
	j.server.Stays, j.server.Says = true, j.said.path
	if err := j.server.Start(ctx); err != nil {
		return report, err
	}
	if err := j.learn(ctx); err != nil {
		return report, fmt.Errorf("the lock service %s: %w", o.Command, errors.Join(err, j.ended()))
	}
	report.LockService, report.Says = o.Command, (&trial{judge: j, ttl: short}).subject().String()
	ctx, cancel := context.WithCancel(ctx)
	judged, wait := j.begin(ctx, all)
	defer wait()
	defer cancel()
	for _, l := range all {
		r := judged(l)
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		report.Results = append(report.Results, r)
		if o.Tell != nil {
			o.Tell(report, r)
		}
	}
	return report, nil
}

// begin begins with the laws that wait, side by side. judged judges a law, or waits for what comes of it. wait returns
// when no law is judged any more.
func (j *judge) begin(ctx context.Context, all []law) (judged func(law) laws.Result, wait func()) {
	var under sync.WaitGroup
	turns, results := make(chan struct{}, together), make(map[string]chan laws.Result)
	for _, l := range all {
		if l.waits {
			result := make(chan laws.Result, 1)
			results[l.name] = result
			under.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				result <- j.judge(ctx, l)
			})
		}
	}
	return func(l law) laws.Result {
		if l.waits {
			return <-results[l.name]
		}
		if l.alone {
			under.Wait()
		}
		return j.judge(ctx, l)
	}, under.Wait
}

// learn finds out what the lock service speaks, and gives.
func (j *judge) learn(ctx context.Context) error {
	c := (&trial{judge: j, ttl: short}).open().Backend.(*client)
	scope, owner := newScope(), rand.Text()
	token, err := c.take(ctx, scope, owner)
	if err != nil {
		return fmt.Errorf("a lock that nobody has: %w", err)
	}
	j.tokens = token != 0
	answer, err := c.ask(ctx, "renew", scope, owner, c.milliseconds())
	j.renews = err == nil && answer[0] == renewed
	if answer, err = c.ask(ctx, "unlock", scope, owner); err == nil && answer[0] != released {
		err = wrongAnswer(answer, released)
	}
	return err
}

// ended says how the lock service ended; nil where it runs.
func (j *judge) ended() error { return j.server.Ended(time.After(lastWords)) }

func (j *judge) judge(ctx context.Context, l law) (r laws.Result) {
	r = laws.Result{Law: l.name, Doc: l.doc, Outcome: laws.Holds, Began: time.Now()}
	t := &trial{judge: j, ttl: l.ttl}
	within, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("it took longer than %v", deadline))
	defer cancel()
	err := l.check(within, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Asked, r.Took = t.asked, time.Since(r.Began)
	r.Seconds = r.Took.Seconds()
	switch {
	case err == nil:
		return r
	case errors.Is(err, errors.ErrUnsupported):
		r.Outcome, r.Why = laws.LeftOut, strings.TrimSuffix(err.Error(), ": "+errors.ErrUnsupported.Error())
		return r
	}
	r.Outcome, r.Why = laws.Fails, err.Error()
	if ended := j.ended(); ended != nil {
		r.Outcome, r.Why = laws.NotJudged, errors.Join(ended, err).Error()
	}
	r.Lines = t.lines
	r.Again = []string{"gcsim laws --law " + laws.ShellWord(l.name) + " --lock-service " + laws.ShellWord(j.command)}
	return r
}

// Package laws judges a storage that is not ours by the laws of fencetest, over HTTP, and shows how it breaks them.
package laws

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// Options of Judge. The storage is there, at one or two URLs, or run by one or two commands; two share data.
type Options struct {
	URLs     []string
	Commands []string
	Exe      string               // a program that has the janitor's role, for commands
	Timeout  time.Duration        // of a request
	Only     []string             // names of the laws; nil: all
	Idle     time.Duration        // for how long marks are left alone, to see whether they stay; 0: 6 s
	Scopes   int                  // how many marks there are at a time; 0: those of 30 s, from 2,000 to 25,000
	Tell     func(Report, Result) // is told of each law when it has been judged; nil: nobody is
	Progress func(string)         // is told now and then of a law that takes long; nil: nobody is
	Every    time.Duration        // between two times; 0: 10 s
}

const (
	Holds     = "holds"
	Fails     = "fails"
	LeftOut   = "left out"   // it is about what the storage does not do
	NotJudged = "not judged" // the storage did not answer, and still does not
)

type Result struct {
	Law      string        `json:"law"`
	Doc      string        `json:"doc"` // the law, in a sentence
	Outcome  string        `json:"outcome"`
	Why      string        `json:"why,omitempty"`      // it does not hold
	Requests []Exchange    `json:"requests,omitempty"` // that show it, the last ones
	Lines    []string      `json:"lines,omitempty"`    // the same of a lock service
	Again    []string      `json:"again,omitempty"`    // lines for a shell that show it again
	Asked    int           `json:"asked"`              // how many requests were made
	Racers   int           `json:"racers,omitempty"`   // most that made a request at the same moment
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"-"`
	Seconds  float64       `json:"seconds"` // that it took
}

// Report is about a storage, or about a lock service.
type Report struct {
	Storage     string   `json:"storage,omitempty"`
	Speaks      Speaks   `json:"speaks,omitzero"`
	LockService string   `json:"lock_service,omitempty"`
	Says        string   `json:"says,omitempty"` // what a lock service can do, as it shows when it is asked
	Results     []Result `json:"laws"`
	Error       string   `json:"error,omitempty"` // why nothing was judged
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
	return fmt.Sprintf("laws: %d held, %d failed, %d left out, %d not judged",
		r.Count(Holds), r.Count(Fails), r.Count(LeftOut), r.Count(NotJudged))
}

const (
	lawDeadline = 10 * time.Minute
	maxDead     = 3 // laws in a row that could not be judged: then no other is tried
	idle        = 6 * time.Second
)

// Law is a law of a fenced storage: one of fencetest, or one of HTTP.
type Law struct {
	Name, Doc string
	check     func(ctx context.Context, j *judge) error
}

// List has all laws, in the order in which they are judged.
func List() (list []Law) {
	for _, l := range fencetest.Laws {
		check := func(ctx context.Context, j *judge) error { return l.Check(ctx, j.subject()) }
		switch l.Name {
		case manyMarks:
			check = func(ctx context.Context, j *judge) error { return j.manyMarksStay(ctx, l) }
		case crowd:
			check = func(ctx context.Context, j *judge) error { return j.crowdIsOneStep(ctx, l) }
		}
		list = append(list, Law{l.Name, l.Doc, check})
	}
	return append(list, wire...)
}

type judge struct {
	place
	client *client
	idle   time.Duration
	scopes int    // 0: as many as can be had in a time
	mark   string // of all names in this judgement
	views  int
	used   bool // the storage is not fresh, if it can be
	racers int  // of the law that is judged
	speaks Speaks
}

// Ask finds out what a storage speaks. An error says why it cannot be asked, or that it speaks nothing.
func Ask(ctx context.Context, o Options) (speaks Speaks, err error) {
	j, err := newJudge(o)
	if err != nil {
		return speaks, err
	}
	defer func() { err = errors.Join(err, j.end()) }()
	err = j.learn(ctx)
	return j.speaks, err
}

// newJudge is the judge of a storage, which is to be ended.
func newJudge(o Options) (j *judge, err error) {
	j = &judge{client: newClient(o.Timeout), idle: cmp.Or(o.Idle, idle), scopes: o.Scopes, mark: "laws-" + strings.ToLower(rand.Text()[:6])}
	for _, u := range o.URLs {
		j.given = append(j.given, strings.TrimSuffix(u, "/"))
	}
	if j.commands = o.Commands; j.runs() {
		j.group, err = proc.NewGroup(o.Exe)
	}
	return j, err
}

// learn finds out what the storage speaks. An error names the storage.
func (j *judge) learn(ctx context.Context) (err error) {
	if err = j.fresh(ctx); err != nil {
		return err
	}
	if j.speaks, err = j.ask(ctx); err != nil {
		if ended := j.ended(); ended != nil && isUnanswered(err) {
			return fmt.Errorf("%w\nit was asked what it speaks: %w", ended, err)
		}
		return fmt.Errorf("the storage %v: %w", &j.place, err)
	}
	if j.runs() {
		j.speaks.Killed = true
		if j.speaks.Durable, err = j.isDurable(ctx); err != nil {
			return fmt.Errorf("the storage %v was killed and started again: %w", &j.place, err)
		}
	}
	return nil
}

// Judge judges a storage. An error says why it cannot be judged at all.
func Judge(ctx context.Context, o Options) (report Report, err error) {
	list, err := chosen(o.Only)
	if err != nil {
		return report, err
	}
	j, err := newJudge(o)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, j.end()) }()
	report.Storage = j.place.String()
	if err := j.learn(ctx); err != nil {
		return report, err
	}
	report.Speaks = j.speaks
	dead := 0
	o.Every = cmp.Or(o.Every, every)
	for i, l := range list {
		r := Result{Law: l.Name, Doc: l.Doc, Outcome: NotJudged, Why: fmt.Sprintf("the storage did not answer in the %d laws before", maxDead), Began: time.Now()}
		if dead < maxDead {
			r = j.judgeWatched(ctx, list[i:], o)
		}
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if dead++; r.Outcome != NotJudged {
			dead = 0
		}
		report.Results = append(report.Results, r)
		if o.Tell != nil {
			o.Tell(report, r)
		}
	}
	return report, nil
}

// judgeWatched judges the first law of a list, and tells of its progress.
func (j *judge) judgeWatched(ctx context.Context, list []Law, o Options) Result {
	if o.Progress == nil {
		return j.judge(ctx, list[0])
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { j.watch(list, o, over) })
	defer watch.Wait()
	defer close(over)
	return j.judge(ctx, list[0])
}

func chosen(names []string) ([]Law, error) {
	list := List()
	if names == nil {
		return list, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(l Law) bool { return l.Name == name }) {
			return nil, fmt.Errorf("there is no law %q: docs/laws.md has the names of all", name)
		}
	}
	return slices.DeleteFunc(list, func(l Law) bool { return !slices.Contains(names, l.Name) }), nil
}

func (j *judge) judge(ctx context.Context, l Law) (r Result) {
	r = Result{Law: l.Name, Doc: l.Doc, Began: time.Now()}
	defer func() {
		r.Took = time.Since(r.Began)
		r.Seconds = r.Took.Seconds()
	}()
	within, cancel := context.WithTimeoutCause(ctx, lawDeadline, fmt.Errorf("it took longer than %v", lawDeadline))
	defer cancel()
	j.client.forget()
	j.used, j.racers = true, 0
	err := l.check(within, j)
	r.Racers = j.racers
	requests, asked := j.client.logged()
	r.Asked = asked
	if within.Err() != nil {
		r.Outcome, r.Why = NotJudged, context.Cause(within).Error()
		return r
	}
	switch {
	case err == nil:
		r.Outcome = Holds
		return r
	case errors.Is(err, fencetest.ErrNotApplicable):
		_, why, _ := strings.Cut(err.Error(), fencetest.ErrNotApplicable.Error()+": ")
		r.Outcome, r.Why = LeftOut, cmp.Or(j.remedy(l), why)
		return r
	}
	r.Outcome, r.Why = Fails, err.Error()
	if j.used {
		r.Outcome = NotJudged // not even once it could be asked
		return r
	}
	if silent := j.silent(within); silent != nil && isUnanswered(err) {
		r.Outcome, r.Why = NotJudged, fmt.Sprintf("%s; asked once more: %v", r.Why, silent)
	}
	r.Requests = requests[max(0, len(requests)-MaxRequests):]
	if r.Again = j.again(requests); asked > maxAgain || slices.ContainsFunc(requests, untyped) || strings.HasPrefix(l.Name, "Restart") || strings.HasPrefix(l.Name, "Processes") {
		r.Again = []string{fmt.Sprintf("gcsim laws --law %s %s", l.Name, j.args())}
	}
	return r
}

// remedy says how a law that was left out can be judged; "": by nothing that is asked of gcsim.
func (j *judge) remedy(l Law) string {
	switch {
	case strings.HasSuffix(l.Name, "BothMarks") && !j.speaks.Shared:
		return ""
	case strings.HasPrefix(l.Name, "ProcessesShare") && j.runs():
		return "it is about two processes on the same data: give --command twice"
	case strings.HasPrefix(l.Name, "ProcessesShare"):
		return "it is about two processes on the same data: give the URLs of two"
	case strings.HasPrefix(l.Name, "RestartKeeps") && j.runs():
		return "the storage loses its data when it is killed, and its marks with it"
	case strings.HasPrefix(l.Name, "RestartKeeps"):
		return "gcsim kills no storage at a URL: have it run the storage, by --command"
	}
	return ""
}

func isUnanswered(err error) bool {
	_, is := errors.AsType[*UnansweredError](err)
	return is
}

func (j *judge) silent(ctx context.Context) error {
	_, _, err := j.open().Read(ctx, tokenOf(0), asked)
	if err == nil {
		return nil
	}
	return errors.Join(err, j.ended())
}

// begin returns a part of the storage that nobody has used: of a fresh one, where gcsim can make one.
func (j *judge) begin(ctx context.Context) (store, error) {
	if j.used {
		if err := j.fresh(ctx); err != nil {
			return nil, err
		}
		j.used = false
	}
	return j.open(), nil
}

func (j *judge) view() view {
	j.views++
	return view{client: j.client, base: j.urls()[0], prefix: fmt.Sprintf("%s-%d-", j.mark, j.views)}
}

func (j *judge) open() store {
	if j.speaks.Protocol == protocolContrib {
		return contrib{j.view()}
	}
	return v1{j.view()}
}

func (j *judge) subject() fencetest.Subject {
	s := fencetest.Subject{
		Open:       func(ctx context.Context) (fencetest.Store, error) { return j.begin(ctx) },
		NoSequence: !j.speaks.Sequence, NoShared: !j.speaks.Shared, Terse: !j.speaks.Marks,
		MaxScope: 1000, Idle: j.idle, // with its prefix a scope has at most the 1,024 bytes that the protocol allows
	}
	if j.runs() && j.speaks.Durable {
		s.Restart = func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			err := j.restart(ctx)
			return s.(store).at(j.urls()[0]), err
		}
	}
	if len(j.urls()) > 1 {
		s.Second = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			return s.(store).at(j.urls()[1]), nil
		}
	}
	return s
}

// takesBodyFirst reports whether a storage checks a write when it has the body. Of one that does not LateBodyIsNoWayIn tells.
func (j *judge) takesBodyFirst(ctx context.Context) bool {
	late := onWire(func(s *steps) { lateBodies[0].isNoWayIn(s, 36) })
	return late(ctx, j) == nil
}

// prepare sends a write but its body, so that the storage has begun with it.
func prepare(ctx context.Context, of fencetest.Store, c fence.Claim, key, value string) (func() error, error) {
	s := of.(v1)
	e := Exchange{Method: http.MethodPut, Path: s.path(key), Header: s.header(c), Body: value}
	within, cancel := context.WithTimeout(ctx, there)
	defer cancel()
	conn, err := dial(within, s.base, e, contentLength(len(value)))
	if err != nil {
		return nil, s.client.note(s.base, e, program.Answer{}, err)
	}
	return func() error {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		a, err := finish(conn, value, s.client.timeout)
		if err = s.client.note(s.base, e, a, err); err != nil {
			return err
		}
		return s.outcome(e, c, a)
	}, nil
}

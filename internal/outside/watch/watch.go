// Package watch stops a user's program while it holds a lock, has the same program take that once more, and sees
// whether the first one's late write gets in.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

type Options struct {
	Command   []string // a program, and its arguments
	Service   *service.Service
	Endpoints []string       // of servers that are there already; none: the program gets its own
	Settings  setting.Values // that say how the program takes the lock, beside the defaults
	Lock      string         // that the program takes
	To        *url.URL       // of the program's storage; nil: it gets one that checks tokens
	Unfenced  bool           // the storage that it gets checks none
	When      string         // AtWrite or AtGrant
	Patience  time.Duration  // for how long an event is waited for
	Linger    time.Duration  // for how long the program's writes are watched after the first late one
	Exe       string         // a program that has the lab's roles
	Say       func(format string, args ...any)
	Output    io.Writer // gets what the program says
}

const (
	AtWrite = "write" // when its first write under the lock is on its way to the storage
	AtGrant = "grant" // when the lock is granted to it
)

type watch struct {
	Options
	stage   *stage.Stage
	storage *storage
	seen    int      // tenures of the account that are of no interest
	own     []string // tenures of gcsim's own
}

// runner is a program that runs.
type runner struct {
	*proc.Process
	gate *gate.Gate
}

// Watch reports history.Safe or history.Corrupted. An error says why that could not be seen.
func Watch(ctx context.Context, o Options) (verdict string, err error) {
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return "", err
	}
	if len(o.Endpoints) > 0 {
		if err := o.Service.Reach(ctx, o.Endpoints); err != nil {
			return "", err
		}
	}
	w := &watch{Options: o}
	settings, err := setting.Complete(slices.Concat(setting.Client, o.Service.Client), o.Settings)
	if err != nil {
		return "", err
	}
	if o.Service.Untold != nil {
		if err := o.Service.Untold(settings); err != nil {
			return "", err
		}
	}
	if w.stage, err = stage.Open(ctx, o.Exe, o.Service, setting.Defaults(o.Service.World), o.Endpoints, []string{o.Lock}); err != nil {
		return "", err
	}
	err = fail.Caught(func() { verdict = w.play(ctx, settings) })
	return verdict, errors.Join(err, w.stage.Close())
}

// play plays the story. What goes wrong ends the story.
func (w *watch) play(ctx context.Context, settings setting.Values) (verdict string) {
	w.Endpoints = fail.Must(w.stage.Servers.Endpoints(ctx, settings))
	w.storage = fail.Must(w.openStorage(ctx))
	defer w.storage.account.Close()
	var first *runner
	var late *gate.Request
	var tenure history.Event
	if w.When == AtGrant {
		first, tenure = w.startToGrant(ctx, settings)
		defer first.end() // if it has not ended
	} else {
		first = w.start(w.Endpoints)
		defer first.end()
		late, tenure = w.firstWrite(ctx, first)
		fail.If(first.Pause())
	}
	err := fail.Caught(func() { w.succeed(ctx, tenure) })
	fail.If(errors.Join(err, first.Resume()))
	w.Say("the first one goes on")
	return w.late(ctx, first, late)
}

// start starts the program, and tells it by its environment where all is. endpoints are those of the lock service, as
// the program finds them. If it is the storage as well, that is there, too.
func (w *watch) start(endpoints []string) *runner {
	at := *w.storage.url
	if i := slices.Index(w.Endpoints, at.Host); i >= 0 {
		at.Host = endpoints[i]
	}
	g := fail.Must(w.storage.open(at.Host))
	at.Host = g.Addr
	env := []string{
		"FENCELAB_LOCK=" + w.Lock, "FENCELAB_STORAGE=" + at.String(),
		"FENCELAB_" + strings.ToUpper(w.Service.Name) + "=" + strings.Join(endpoints, ","),
	}
	if w.To != nil && w.To.Scheme == schemeHTTP {
		proxy := "http://" + g.Addr
		env = append(env, "HTTP_PROXY="+proxy, "http_proxy="+proxy, "NO_PROXY=", "no_proxy=")
	}
	w.stage.See(func(a *stage.Account) { w.seen = len(a.Tenures) })
	w.stage.Group().Lane = func(string) io.Writer { return w.Output } // of the program alone: all others run
	p := fail.Must(w.stage.Group().StartCommand("command", env, w.Command))
	go io.Copy(w.Output, p.Stdout) // a full pipe would stop it
	return &runner{Process: p, gate: g}
}

// end ends a program, if it has not ended, and returns when the storage has done what that asked for.
func (r *runner) end() error {
	if !service.IsClosed(r.Done()) {
		if err := r.Kill(); err != nil && !service.IsClosed(r.Done()) {
			return err
		}
	}
	return r.gate.Close()
}

// granted is the tenure that the program has, when the account tells of one within a time.
func (w *watch) granted(ctx context.Context, p *runner, within time.Duration) (e history.Event, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("nobody is granted it for %v", within))
	defer cancel()
	go func() {
		select {
		case <-p.Done():
			cancel() // it will never have the lock
		case <-ctx.Done():
		}
	}()
	err = w.stage.Await(ctx, "the lock "+w.Lock, func(a *stage.Account) (has bool) {
		e, has = w.holder(a)
		return has
	})
	if err != nil && service.IsClosed(p.Done()) {
		err = fmt.Errorf("it ended before it had the lock %s: %w", w.Lock, p.Ended())
	}
	return e, err
}

// holder is the tenure that goes on, of those since the program was started.
func (w *watch) holder(a *stage.Account) (e history.Event, has bool) {
	for _, t := range a.Tenures[w.seen:] {
		switch {
		case slices.Contains(w.own, t.Tenure):
		case t.Kind == history.KindGranted:
			e, has = t, true
		case t.Kind == history.KindEnded && t.Tenure == e.Tenure:
			has = false
		}
	}
	return e, has
}

// firstWrite is the first request to change something that comes while the program holds the lock.
func (w *watch) firstWrite(ctx context.Context, p *runner) (q *gate.Request, tenure history.Event) {
	said := "before it wrote anything by FENCELAB_STORAGE"
	for {
		q = w.next(ctx, p, w.Patience)
		switch {
		case q == nil && service.IsClosed(p.Done()):
			fail.If(fmt.Errorf("it ended %s: %w", said, p.Ended()))
		case q == nil:
			fail.If(fmt.Errorf("it went on for %v %s", w.Patience, said))
		}
		// The account of a grant may lag behind a write under it.
		tenure, err := w.granted(ctx, p, 2*time.Second)
		if err == nil {
			return q, tenure
		}
		if service.IsClosed(p.Done()) {
			fail.If(err)
		}
		w.Say("%s comes, and nobody holds %s: it passes", q, w.Lock)
		said = fmt.Sprintf("and wrote only while, as %s tells, nobody held %s", w.Service.Name, w.Lock)
		q.Pass()
	}
}

// next is the next request to change something; nil: the program has ended, or the time is over.
func (w *watch) next(ctx context.Context, p *runner, within time.Duration) *gate.Request {
	select {
	case q := <-p.gate.Requests:
		return q
	case <-p.Done():
	case <-time.After(within):
	case <-ctx.Done():
		fail.If(context.Cause(ctx))
	}
	return nil
}

// succeed has the program run once more, and write under the lock, while the first one stands still.
func (w *watch) succeed(ctx context.Context, tenure history.Event) {
	stopped := time.Now()
	w.Say("it holds %s%s, and is stopped", w.Lock, withToken(tenure))
	within, cancel := context.WithTimeoutCause(ctx, w.Patience,
		fmt.Errorf("after %v it still holds the lock: is its lease longer (--patience), or is it renewed by a process outside of the command's process group?", w.Patience))
	defer cancel()
	fail.If(w.stage.Await(within, "the end of its lease", func(a *stage.Account) bool {
		_, ended := a.Find(history.KindEnded, w.Lock, tenure.Tenure)
		return ended
	}))
	w.Say("its lease has run out after %v; the command runs once more", time.Since(stopped).Round(time.Millisecond))
	p := w.start(w.Endpoints)
	var wrote bool
	var said string
	err := fail.Caught(func() {
		q, tenure := w.firstWrite(ctx, p)
		fail.Must(w.storage.account.Changes(ctx)) // what was changed before is of no interest
		w.Say("the second one holds the lock%s", withToken(tenure))
		for ; q != nil; q = w.next(ctx, p, w.Linger) {
			said = w.pass(ctx, q)
			w.Say("it asks for %s: %s", q, said)
			wrote = len(fail.Must(w.storage.account.Changes(ctx))) > 0 || wrote
		}
	})
	if err = errors.Join(err, p.end()); err != nil {
		fail.If(fmt.Errorf("the second one: %w", err))
	}
	if wrote = len(fail.Must(w.storage.account.Changes(ctx))) > 0 || wrote; wrote {
		return
	}
	err = fmt.Errorf("the storage did nothing of what the holder of the lock asked for (%s): what becomes of a late write shows nothing", said)
	if w.To == nil && !w.Unfenced {
		err = fmt.Errorf("%w. gcsim's storage refuses each write without a token: name the program's own by --to URL, or one that checks none by --to unfenced", err)
	}
	fail.If(err)
}

// pass lets a request pass, and returns what the storage said.
func (w *watch) pass(ctx context.Context, q *gate.Request) (said string) {
	q.Pass()
	select {
	case said = <-q.Answer:
	case <-time.After(w.Patience):
		fail.If(fmt.Errorf("the storage did not answer %s for %v", q, w.Patience))
	case <-ctx.Done():
		fail.If(context.Cause(ctx))
	}
	return said
}

// late lets the first program write, and sees what comes of that.
func (w *watch) late(ctx context.Context, p *runner, q *gate.Request) (verdict string) {
	if q == nil {
		q = w.next(ctx, p, w.Linger)
	}
	if q == nil {
		w.Say("it wrote nothing after it went on")
	}
	for ; q != nil; q = w.next(ctx, p, w.Linger) {
		w.Say("the late request of the command, %s: %s", q, w.pass(ctx, q))
		if w.changed(ctx) {
			return history.Corrupted
		}
	}
	fail.If(p.end())
	if w.changed(ctx) { // by a transaction that it began before, and committed now
		return history.Corrupted
	}
	return history.Safe
}

// changed reports whether the storage has changed something, and says what.
func (w *watch) changed(ctx context.Context) bool {
	changes := fail.Must(w.storage.account.Changes(ctx))
	if len(changes) > 0 {
		w.Say("it changed %s", strings.Join(changes, ", "))
	}
	return len(changes) > 0
}

func withToken(tenure history.Event) string {
	if tenure.Token == 0 {
		return ""
	}
	return " with token " + history.Decimal(tenure.Token)
}

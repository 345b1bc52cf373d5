// Package watch stops a user's program while it holds a lock, has another client take that, and sees whether
// the program's late write gets in.
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
	Settings  setting.Values // of the other client, beside the defaults
	Lock      string         // that the program takes
	To        *url.URL       // of the program's storage; nil: it gets one that checks tokens
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
	gate    *gate
	program *proc.Process
	other   service.Client
	seen    int // tenures of the account that are of no interest
}

// Watch reports history.Safe or history.Corrupted. An error says why that could not be seen.
func Watch(ctx context.Context, o Options) (verdict string, err error) {
	if o.Service.Dial == nil {
		return "", fmt.Errorf("the client that takes the lock after the program: %w", o.Service.NoClient)
	}
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return "", err
	}
	if len(o.Endpoints) > 0 {
		if err := o.Service.Reach(ctx, o.Endpoints); err != nil {
			return "", err
		}
	}
	w := &watch{Options: o}
	if w.stage, err = stage.Open(ctx, o.Exe, o.Service, setting.Defaults(o.Service.World), o.Endpoints, []string{o.Lock}); err != nil {
		return "", err
	}
	err = fail.Caught(func() { verdict = w.play(ctx) })
	return verdict, errors.Join(err, w.stage.Close())
}

// play plays the story. What goes wrong ends the story.
func (w *watch) play(ctx context.Context) (verdict string) {
	to := w.To
	if to == nil {
		fail.If(w.stage.StartStorage())
		to = fail.Must(url.Parse(w.stage.Storage))
	}
	w.gate = fail.Must(openGate(to))
	defer w.gate.close()
	w.prepareOther(ctx)
	defer w.other.Close(context.WithoutCancel(ctx))
	w.start()
	return w.see(ctx)
}

// prepareOther makes the client that takes the lock after the program.
func (w *watch) prepareOther(ctx context.Context) {
	settings := fail.Must(setting.Complete(slices.Concat(setting.Client, w.Service.Client), w.Settings))
	settings[setting.TTL] = "60s" // the lease is renewed; it is not to run out if this process stands still
	w.Endpoints = fail.Must(w.stage.Servers.Endpoints(ctx, settings))
	w.other = fail.Must(w.Service.Dial(service.Options{Endpoints: w.Endpoints, Settings: settings}))
}

// start starts the program, and tells it by its environment where all is.
func (w *watch) start() {
	gate := "http://" + w.gate.addr
	env := []string{
		"FENCELAB_LOCK=" + w.Lock, "FENCELAB_STORAGE=" + gate,
		"FENCELAB_" + strings.ToUpper(w.Service.Name) + "=" + strings.Join(w.Endpoints, ","),
	}
	if w.To != nil {
		env = append(env, "HTTP_PROXY="+gate, "http_proxy="+gate, "NO_PROXY=", "no_proxy=")
	}
	w.stage.See(func(a *stage.Account) { w.seen = len(a.Tenures) })
	w.stage.Group().Lane = func(string) io.Writer { return w.Output } // of the program alone: all others run
	w.program = fail.Must(w.stage.Group().StartCommand("command", env, w.Command))
	go io.Copy(w.Output, w.program.Stdout) // a full pipe would stop it
}

func (w *watch) see(ctx context.Context) (verdict string) {
	var late *request
	var tenure history.Event
	if w.When == AtGrant {
		tenure = fail.Must(w.granted(ctx, w.Patience))
	} else {
		late, tenure = w.firstWrite(ctx)
	}
	token := w.succeed(ctx, tenure)
	if late == nil {
		if late = w.next(ctx, w.Linger); late == nil {
			w.Say("it wrote nothing after it went on")
			return history.Safe
		}
	}
	return w.let(ctx, late, tenure, token)
}

// granted is the tenure that the program has, when the account tells of one within a time.
func (w *watch) granted(ctx context.Context, within time.Duration) (e history.Event, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("nobody is granted it for %v", within))
	defer cancel()
	go func() {
		select {
		case <-w.program.Done():
			cancel() // it will never have the lock
		case <-ctx.Done():
		}
	}()
	err = w.stage.Await(ctx, "the lock "+w.Lock, func(a *stage.Account) (has bool) {
		e, has = w.holder(a)
		return has
	})
	if err != nil && service.IsClosed(w.program.Done()) {
		err = fmt.Errorf("it ended before it had the lock %s: %w", w.Lock, w.program.Ended())
	}
	return e, err
}

// holder is the tenure that goes on, of those since the program was started.
func (w *watch) holder(a *stage.Account) (e history.Event, has bool) {
	for _, t := range a.Tenures[w.seen:] {
		switch {
		case t.Kind == history.KindGranted:
			e, has = t, true
		case t.Kind == history.KindEnded && t.Tenure == e.Tenure:
			has = false
		}
	}
	return e, has
}

// firstWrite is the first request to change something that comes while the program holds the lock.
func (w *watch) firstWrite(ctx context.Context) (q *request, tenure history.Event) {
	for {
		q = w.next(ctx, w.Patience)
		switch {
		case q == nil && service.IsClosed(w.program.Done()):
			fail.If(fmt.Errorf("it ended before it wrote anything by FENCELAB_STORAGE: %w", w.program.Ended()))
		case q == nil:
			fail.If(fmt.Errorf("it went on for %v before it wrote anything by FENCELAB_STORAGE", w.Patience))
		}
		// The account of a grant may lag behind a write under it.
		tenure, err := w.granted(ctx, 2*time.Second)
		if err == nil {
			return q, tenure
		}
		if service.IsClosed(w.program.Done()) {
			fail.If(err)
		}
		w.Say("%s %s comes, and nobody holds %s: it passes", q.method, q.path, w.Lock)
		close(q.pass)
	}
}

// next is the next request to change something; nil: the program has ended, or the time is over.
func (w *watch) next(ctx context.Context, within time.Duration) *request {
	select {
	case q := <-w.gate.requests:
		return q
	case <-w.program.Done():
	case <-time.After(within):
	case <-ctx.Done():
		fail.If(context.Cause(ctx))
	}
	return nil
}

// succeed stops the program until another client has the lock, and returns that one's token; "": none.
func (w *watch) succeed(ctx context.Context, tenure history.Event) (token string) {
	fail.If(w.program.Pause())
	err := fail.Caught(func() { token = w.take(ctx, tenure) })
	fail.If(errors.Join(err, w.program.Resume()))
	return token
}

// take has another client take the lock when the program's lease is over, and returns its token.
func (w *watch) take(ctx context.Context, tenure history.Event) (token string) {
	stopped := time.Now()
	w.Say("it holds %s%s, and is stopped", w.Lock, withToken(history.Decimal(tenure.Token)))
	within, cancel := context.WithTimeoutCause(ctx, w.Patience,
		fmt.Errorf("after %v it still holds the lock: is its lease longer (--patience), or is it renewed by a process outside of the command's process group?", w.Patience))
	defer cancel()
	fail.If(w.stage.Await(within, "the end of its lease", func(a *stage.Account) bool {
		_, ended := a.Find(history.KindEnded, w.Lock, tenure.Tenure)
		return ended
	}))
	w.Say("its lease has run out after %v", time.Since(stopped).Round(time.Millisecond))
	t, err := w.other.Lock(within, w.Lock, "")
	if err != nil {
		fail.If(fmt.Errorf("another client does not get the lock that is free: %w", err))
	}
	if shown, _ := t.Shown(); shown != 0 {
		token = shown.String()
	}
	w.Say("another client takes the lock%s; the command goes on", withToken(token))
	return token
}

func withToken(token string) string {
	if token == "" {
		return ""
	}
	return " with token " + token
}

// let has the other client make the program's request, and then the program, and sees what comes of that.
func (w *watch) let(ctx context.Context, late *request, tenure history.Event, token string) (verdict string) {
	other := w.gate.again(ctx, late, history.Decimal(tenure.Token), token)
	w.Say("the other client asks for %s %s: %v", late.method, late.path, other)
	if !other.done() {
		close(late.pass)
		fail.If(fmt.Errorf("the storage did not do what the holder of the lock asked for (%v): what becomes of a late write shows nothing", other))
	}
	for ; late != nil; late = w.next(ctx, w.Linger) {
		close(late.pass)
		var got answer
		select {
		case got = <-late.answer:
		case <-ctx.Done():
			fail.If(context.Cause(ctx))
		}
		w.Say("the late request of the command, %s %s: %v", late.method, late.path, got)
		switch {
		case got.done():
			return history.Corrupted
		case !got.refused():
			fail.If(fmt.Errorf("whether the late request got in is not known: %v", got))
		}
	}
	return history.Safe
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

func (r *run) step(ctx context.Context, s scenario.Step) error {
	r.state.tells(s)
	a, known := r.actions[s.ID]
	if !known {
		return fmt.Errorf("nobody knows how to do it") // which the parser has kept out
	}
	return a.do(r, ctx, s)
}

// nameAsked gives a step's name to a lock that its client has asked for: the step itself asks nothing.
func (r *run) nameAsked(s scenario.Step, lock string) {
	if s.Name != "" {
		r.noteAsked(s, lock, "waits for "+lock+", which it has asked for")
	}
}

// noteAsked notes what a client does about a lock that it has asked for before, under the step's name.
func (r *run) noteAsked(s scenario.Step, lock, does string) {
	e := r.event(s.Client, history.KindNote)
	e.Op, e.Scope, e.Step, e.Text = history.OpLock, lock, s.Name, s.Client+" "+does
	r.recorder.add(e)
}

// lock makes a client take the lock. If the machine stands still, its lease may run out before it has the
// lock, which is no part of any story: then it asks anew.
func (r *run) lock(ctx context.Context, s scenario.Step) error {
	if k := r.state.client(s.Client).claim(r.lockOf(s)); k.queued != "" {
		r.nameAsked(s, k.lock)
		return r.awaitQueued(ctx, k, s)
	}
	if !r.hasOwnLease(s.Client) {
		return r.act(ctx, s)
	}
	const attempts = 5
	for range attempts {
		if err := r.act(ctx, s); err != nil {
			return err
		}
		if reply := r.state.client(s.Client).reply; reply.Kind != history.KindFail || reply.Reason != history.CauseExpired {
			return nil
		}
	}
	return fmt.Errorf("%s's lease of %v ran out %d times before it had the lock: this machine is too slow, or the TTL too short",
		s.Client, r.variant.Clients[s.Client].Time(setting.TTL), attempts)
}

// hasOwnLease reports whether each tenure of a client stands on a lease of its own.
func (r *run) hasOwnLease(client string) bool {
	session, has := setting.Find(r.service.Client, setting.Session)
	return !has || r.variant.Clients[client].Text(setting.Session) == session.Default
}

// within is for how long a client's step is waited for.
func (r *run) within(client string) time.Duration {
	c := r.variant.Clients[client]
	return r.Patience + c.Time(setting.TTL) + c.Time(setting.Delay) + c.Time(setting.Timeout)
}

// ownLock is the name of a client's own lock, as the lock service knows it.
func (r *run) ownLock(client string) string { return r.prefix + r.variant.Clients[client].Lock }

// lockOf is the name of the lock that a step takes, as the lock service knows it.
func (r *run) lockOf(s scenario.Step) string { return r.prefix + r.variant.LockOf(s) }

// claim is what a client has of the lock that a step names, else of its last lock.
func (r *run) claim(s scenario.Step) *claim {
	c := r.state.client(s.Client)
	if s.Lock == "" {
		return c.last()
	}
	return c.claim(r.lockOf(s))
}

// act makes a client do something, and awaits its answer and what the other accounts say of it.
func (r *run) act(ctx context.Context, s scenario.Step) error {
	c := r.state.client(s.Client)
	if s.Verb == scenario.Finish && r.nothingBegun(s.Client) {
		return nil
	}
	if s.Verb == scenario.Finish && c.reply.Op == history.OpLock {
		r.nameAsked(s, c.reply.Scope)
	}
	before, stood, noted := c.replies, c.stands, c.notes
	if err := r.command(s.Client, r.line(s)); err != nil {
		return err
	}
	what := fmt.Sprintf("%s's %s", r.world.clients[s.Client].Name, s.Verb)
	if holder := r.state.ledger.Holder(r.lockOf(s)); s.Verb == scenario.Lock && holder != "" {
		what += " (" + holder + " holds it)"
	}
	var reply history.Event
	err := r.await(ctx, what, r.within(s.Client)+s.For, func() (bool, error) {
		if s.Verb == scenario.Begin && c.stands > stood {
			return true, nil // no request, and so no reply
		}
		if s.Verb == scenario.Begin && c.notes > noted && c.reply.Op == history.OpLock {
			return r.state.ledger.Tenure(c.reply.Tenure).Granted.Came(), nil
		}
		if s.Verb == scenario.Unlock && c.notes > noted {
			return true, nil // of a lock that was taken again: its tenure goes on
		}
		goesOn := c.reply.Kind == history.KindOK || c.reply.Kind == history.KindNote
		over := c.replies == before+len(r.requests(s)) || c.replies > before && !goesOn
		if over = over && !(s.Verb == scenario.Begin && goesOn); over {
			reply = c.reply
		}
		return over, nil
	})
	if err != nil {
		return err
	}
	teller := "the lock service"
	if reply.Request != "" {
		teller = "the storage"
	}
	return r.await(ctx, teller+" to tell of "+what, r.within(s.Client), func() (bool, error) { return r.state.told(reply), nil })
}

// nothingBegun reports, and notes, that a client looked, did not hold its lock, and so began nothing.
func (r *run) nothingBegun(client string) bool {
	c := r.state.client(client)
	if c.reply.Kind != history.KindFail && c.reply.Kind != history.KindUnknown {
		return false
	}
	r.note(client, "%s has nothing to finish: it began nothing", client)
	return true
}

// line is a step as the agent of its client reads it.
func (r *run) line(s scenario.Step) string {
	if owner := r.variant.SessionOf(s.Client); owner != "" && (s.Verb == scenario.Lock || s.Verb == scenario.TryLock) {
		return r.text(s) + " in " + r.state.client(owner).last().tenure
	}
	return r.text(s)
}

// text is that of a step, with the lock's name as the lock service knows it.
func (r *run) text(s scenario.Step) string {
	switch {
	case s.Lock == "":
		return s.Text
	case s.Verb == scenario.Lock: // a time can follow
		return strings.Replace(s.Text, " "+s.Lock, " "+r.lockOf(s), 1)
	}
	return strings.TrimSuffix(s.Text, s.Lock) + r.lockOf(s)
}

func (r *run) command(client, line string) error {
	p := r.world.clients[client]
	_, err := io.WriteString(p.Stdin, line+"\n")
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = p.Ended()
	}
	if err != nil {
		return fmt.Errorf("tell %s to %q: %w", client, line, err)
	}
	return nil
}

// requests are the writes that a step is of. Most are of one request, whatever it says.
func (r *run) requests(s scenario.Step) []history.Change {
	if s.Verb == scenario.Change && r.variant.Clients[s.Client].Text(setting.Change) == setting.ChangeSingly {
		return slices.Clone(s.Changes)
	}
	return []history.Change{{}}
}

// send makes a client send without waiting for the answer; one that stands still does so later.
func (r *run) send(ctx context.Context, s scenario.Step) error {
	c := r.state.client(s.Client)
	if s.Verb == scenario.Finish && r.nothingBegun(s.Client) {
		return nil
	}
	c.sending, c.later = r.requests(s), c.step
	n := len(c.sending)
	if err := r.command(s.Client, r.line(s)); err != nil || c.Paused() {
		return err
	}
	return r.awaitSent(ctx, s.Client, s.Client+" to "+s.Text, r.within(s.Client), func() bool {
		return len(c.sending) < n && r.waiting(s.Client) || r.state.arrived(s.Client)
	})
}

// queue makes a client ask for the lock, and awaits that it stands in the queue.
func (r *run) queue(ctx context.Context, s scenario.Step) error {
	client := s.Client
	var since fence.Token
	if r.service.Position != nil {
		var err error
		if since, err = r.service.Position(ctx, r.servers); err != nil {
			return err
		}
	}
	lock := r.lockOf(s)
	k := r.state.client(client).claim(lock)
	k.queues = true
	if err := r.command(client, r.text(s)); err != nil {
		return err
	}
	before, asked := k.tenure, k.asked
	return r.await(ctx, client+"'s place in the queue", r.within(client), func() (bool, error) {
		switch {
		case k.asked == asked: // the lock service's word has come before the client's own
			return false, nil
		case k.queues && r.service.Position == nil:
			return k.queued != "", nil // by the client's own word
		case k.queues: // if the lock was granted at once, the client is about to hear so
			return r.state.waits(client, lock, since) && !r.state.owner(k.queued).Granted.Came(), nil
		case k.tenure != before: // it had to wait for nobody
			k.queued = k.tenure
			return r.state.ledger.Tenure(k.tenure).Granted.Came(), nil
		}
		return true, nil // it could not ask
	})
}

// giveUp makes a client give up its place in the queue, unless the lock has become its own meanwhile.
func (r *run) giveUp(ctx context.Context, s scenario.Step) error {
	k := r.state.client(s.Client).claim(r.lockOf(s))
	k.queued = ""
	r.noteAsked(s, k.lock, "does not want to wait for "+k.lock+" any more")
	if err := r.command(s.Client, r.text(s)); err != nil {
		return err
	}
	return r.await(ctx, s.Client+" to leave the queue", r.within(s.Client), func() (bool, error) { return !k.queues, nil })
}

func (r *run) awaitQueued(ctx context.Context, k *claim, s scenario.Step) error {
	tenure := k.queued
	k.queued = ""
	o := r.state.owner(tenure)
	wait := strings.Replace(r.text(s), string(scenario.Lock), "wait", 1)
	if err := r.command(o.Client, wait); err != nil {
		return err
	}
	return r.await(ctx, o.Client+"'s lock", r.within(o.Client)+s.For, func() (bool, error) {
		has := r.state.owner(k.tenure) // under another name than it queued, where it had to ask anew; or an earlier one
		return !k.queues && (has.told == 0 || has.Granted.Came()), nil
	})
}

func (r *run) awaitLoss(ctx context.Context, s scenario.Step) error {
	k := r.claim(s)
	r.wanted(s.Client, k.tenure)
	return r.await(ctx, s.Client+" to be told of its loss", r.within(s.Client), func() (bool, error) {
		h := r.state.ledger.Holding(s.Client, k.tenure)
		return h != nil && h.Lost, nil
	})
}

func (r *run) wanted(client, tenure string) {
	if tenure != "" {
		r.recorder.add(history.Event{At: r.recorder.now(), Lane: history.LaneLab, Kind: history.KindAwaited, Client: client, Tenure: tenure})
	}
}

func (r *run) awaitExpiry(ctx context.Context, s scenario.Step) error {
	client, tenure := s.Client, r.claim(s).latest()
	c := r.state.client(client)
	if tenure == "" {
		return fmt.Errorf("%s holds no lock that could expire", client)
	}
	r.wanted(client, tenure)
	err := r.await(ctx, "the expiry of "+client+"'s lease", r.within(client), func() (bool, error) {
		if r.state.ledger.Tenure(tenure).Ended.Came() {
			return true, nil
		}
		if c.Fault.Kind == history.KindResume && c.Fault.Cause == history.CauseGC {
			return false, fmt.Errorf("%s's collection took %v and was over before the lease ran out: this machine is too fast for a heap of that size",
				client, c.Fault.Took.Round(time.Millisecond))
		}
		return false, nil
	})
	if errors.Is(err, errWaiting) && !c.Paused() && !c.Dead() && !c.Cut {
		return fmt.Errorf("%w: %s", err, keepsLease(client))
	}
	return err
}

// listed is Options.Next of a story whose steps are all known.
func listed(steps []scenario.Step) func() <-chan scenario.Step {
	all := make(chan scenario.Step, len(steps))
	for _, step := range steps {
		all <- step
	}
	close(all)
	return func() <-chan scenario.Step { return all }
}

func (r *run) play(ctx context.Context, next func() <-chan scenario.Step) error {
	for {
		r.show(0)
		step, more, err := r.awaitStep(ctx, next())
		if err != nil || !more {
			return err
		}
		r.done = append(r.done, step)
		if err := r.step(ctx, step); err != nil {
			return fmt.Errorf("%s.yaml line %d, step %q: %w", r.scenario.Name, step.Line, step, r.because(ctx, err))
		}
		r.state.ascribe()
		r.recorder.flush()
	}
}

// lastWords is how long a failed step waits for news: the kernel may tell of a server's end last.
const lastWords = 300 * time.Millisecond

// because is why a step has failed. That a process has ended, or what it said, says more than what follows.
func (r *run) because(ctx context.Context, failed error) error {
	within, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	news := r.await(within, "its end", 2*lastWords, func() (bool, error) { return false, nil })
	if within.Err() != nil {
		return failed
	}
	return fmt.Errorf("%w (%w)", news, failed)
}

// awaitStep returns the next step, if there is one. Meanwhile the run takes in what the accounts say.
func (r *run) awaitStep(ctx context.Context, next <-chan scenario.Step) (step scenario.Step, more bool, err error) {
	const what = "the next step"
	for {
		select { // what is there already comes before what the accounts have to say
		case step, more = <-next:
			return step, more, nil
		default:
		}
		select {
		case step, more = <-next:
			return step, more, nil
		case events := <-r.hub:
			if err := r.hear(events, what); err != nil {
				return step, false, err
			}
			r.state.ascribe()
			r.show(0)
		case f := <-r.broken:
			if _, wanted := r.world.ends.Load(f.process); !wanted {
				return step, false, fmt.Errorf("waiting for %s: %w", what, f.err)
			}
		case <-ctx.Done():
			return step, false, context.Cause(ctx)
		}
	}
}

// lookPause is the least time from look to look while a step goes on: a count has thousands of events.
const lookPause = 100 * time.Millisecond

// show shows the history so far, if the last look was so long ago.
func (r *run) show(ago time.Duration) {
	began := len(r.recorder.old) > 0
	if r.Look == nil || !began || time.Since(r.looked) < ago {
		return
	}
	r.Look(r.recorder.soFar())
	r.looked = time.Now()
}

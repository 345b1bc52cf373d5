package originaltest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const (
	ttl = 3 * time.Second // of each lock
	// patience is for how long a story waits for what must come to be.
	patience = 30 * time.Second
	// beginning is for how long a client may take to start and reach its servers, beside those of other stories.
	beginning = 2 * time.Minute
	// asksAgain is how often a story asks whether something has come to be.
	asksAgain = 10 * time.Millisecond
)

// client is a program with a library, as a client of a scenario has it, and the way to its servers.
type client struct {
	*peer.Client
	t       *testing.T
	doors   []*door
	process *proc.Other
	tenures int           // that it has asked for
	within  time.Duration // for how long an attempt of have waits
}

// open starts a client, which finds its servers through doors.
func (s *story) open() *client {
	t, l := s.T, s.of
	t.Helper()
	c := &client{t: t}
	if l.Measures {
		c.within = patience
	}
	var addresses []string
	for _, to := range s.endpoints {
		d, err := newDoor(to, framing[l.Service.Name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.close)
		c.doors = append(c.doors, d)
		addresses = append(addresses, d.listener.Addr())
	}
	known := slices.Concat(setting.Client, l.Service.Client)
	settings, err := setting.Complete(known, setting.Values{ // the others have their defaults
		service.By: l.Language + "/" + l.Name, setting.TTL: ttl.String(), setting.Timeout: (20 * time.Second).String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	language, of := original.Of(service.PeerOf(l.Service, scenario.Client{Values: settings}))
	program := language.Program(of, t.TempDir(), l.Name, settings)
	if l.Service.PeerEnv != nil {
		env, err := l.Service.PeerEnv(addresses, locks[0])
		if err != nil {
			t.Fatal(err)
		}
		program.Env = append(program.Env, env...)
	}
	c.Client, err = peer.Start(program, service.Options{Endpoints: addresses, Settings: settings}, known)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) }) // a client that was killed is closed already
	if c.process, err = proc.Find(c.PID()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.process.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), beginning)
	defer cancel()
	if err := c.Reach(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// requests are those that the client has sent until now, and its round trips.
func (c *client) requests() (n cost) {
	for _, d := range c.doors {
		n = n.plus(d.cost())
	}
	return n
}

// awaitRenewal returns when something has passed since the grant, as a renewal, and its answer is no longer under way: else the
// client could be stopped before it reads that, and count its lease from the time at which it goes on. A client that sends
// nothing has no renewal: its lease is not over yet.
func (c *client) awaitRenewal() {
	const quiet = 10 // looks at which nothing passes
	last, still, ends := c.passed(), 0, 0
	for until := time.Now().Add(ttl * 2 / 3); ends < 2 && time.Now().Before(until); time.Sleep(asksAgain) {
		if now := c.passed(); now != last {
			last, still = now, 0
		} else if still++; still == quiet {
			ends++ // of the grant, and then of a renewal
		}
	}
}

// passed is how much has passed between the client and its servers.
func (c *client) passed() (n int) {
	for _, d := range c.doors {
		n += d.passed()
	}
	return n
}

// cutOff keeps back all that the client asks and is answered, until join.
func (c *client) cutOff() {
	for _, d := range c.doors {
		d.link.Tx.Shut()
		d.link.Rx.Shut()
	}
}

func (c *client) join() {
	for _, d := range c.doors {
		d.link.Tx.Open()
		d.link.Rx.Open()
	}
}

// answer is what a library answers, in the words of package peer.
type answer struct{ url.Values }

func (a answer) is(end string) bool { return a.Get("end") == end }

func (a answer) granted() bool { return a.is("ok") }

// tenure is one that a client has, or asks for.
type tenure struct {
	of       *client
	id, lock string
}

func (c *client) tenure(lock string) tenure {
	c.tenures++
	return tenure{c, strconv.Itoa(c.tenures), lock}
}

func (t tenure) ask(ctx context.Context, op string, fields url.Values) answer {
	fields.Set("tenure", t.id)
	ctx, cancel := context.WithTimeout(ctx, 2*patience) // what waits does so for patience at most
	defer cancel()
	said, err := t.of.Ask(ctx, op, fields, patience)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		t.of.t.Errorf("asked to %s %s: %v", op, t.lock, err)
	}
	return answer{said}
}

// take asks for the lock, and waits for it so long. A wait ends when ctx is cancelled, if the library can be told.
func (t tenure) take(ctx context.Context, within time.Duration) answer {
	return t.ask(ctx, "lock", url.Values{"lock": {t.lock}, "within": {strconv.FormatInt(within.Nanoseconds(), 10)}})
}

// takes is take in the background.
func (t tenure) takes(ctx context.Context, within time.Duration) <-chan answer {
	answered := make(chan answer, 1)
	go func() { answered <- t.take(ctx, within) }()
	return answered
}

func (t tenure) again() answer { return t.ask(t.of.t.Context(), "again", url.Values{}) }

func (t tenure) unlock() answer { return t.ask(t.of.t.Context(), "unlock", url.Values{}) }

// believes asks what the library itself believes.
func (t tenure) believes() answer {
	return t.ask(t.of.t.Context(), "look", url.Values{"look": {"acquired"}})
}

// told asks whether the library has told its holder of the loss.
func (t tenure) told() answer { return t.ask(t.of.t.Context(), "told", url.Values{}) }

// try takes a lock that is free, and releases it at once.
func (c *client) try(lock string, within time.Duration) answer {
	t := c.tenure(lock)
	said := t.take(c.t.Context(), within)
	if said.granted() {
		t.unlock()
	}
	return said
}

// have takes a lock as soon as it is free.
func (c *client) have(lock string) (tenure, answer) {
	c.t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(asksAgain) {
		t := c.tenure(lock)
		said := t.take(c.t.Context(), c.within)
		if said.granted() {
			return t, said
		}
		if c.t.Failed() || time.Now().After(until) {
			c.t.Fatalf("%s is never free: %q", lock, said.Get("text"))
		}
	}
}

func (c *client) pause() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.process.Pause(ctx); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) resume() {
	c.t.Helper()
	if err := c.process.Resume(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) kill() {
	c.t.Helper()
	if err := c.process.Kill(); err != nil {
		c.t.Fatal(err)
	}
}

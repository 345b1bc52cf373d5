package locklaws

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// The answers of a lock service.
const (
	granted  = "granted"
	held     = "held"
	renewed  = "renewed"
	released = "released"
	gone     = "gone"
)

const (
	pollPause = 20 * time.Millisecond  // between two attempts to take a lock
	grace     = 250 * time.Millisecond // for the answer to an attempt whose wait is over
)

// client is a lock.Backend by the protocol.
type client struct {
	*trial
	closed chan struct{}

	mu    sync.Mutex
	wakes chan struct{} // closed when the client is cut off no more; nil: it is not cut off
}

func (t *trial) open() locktest.Client {
	c := &client{trial: t, closed: make(chan struct{})}
	return locktest.Client{Backend: c, Crash: c.crash, Wake: c.wake, Close: sync.OnceFunc(func() { close(c.closed) })}
}

func (c *client) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wakes == nil {
		c.wakes = make(chan struct{})
	}
}

func (c *client) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wakes != nil {
		close(c.wakes)
		c.wakes = nil
	}
}

// connected returns when nothing keeps the client from the lock service.
func (c *client) connected(ctx context.Context) error {
	c.mu.Lock()
	wakes := c.wakes
	c.mu.Unlock()
	if wakes != nil {
		select {
		case <-wakes:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// ask is trial.ask of a client that can be cut off, before the question and before the answer.
func (c *client) ask(ctx context.Context, words ...string) (answer []string, err error) {
	if err = c.connected(ctx); err == nil {
		answer, err = c.trial.ask(ctx, words...)
	}
	return answer, errors.Join(err, c.connected(ctx))
}

// ask makes one request, over a connection of its own.
func (t *trial) ask(ctx context.Context, words ...string) (answer []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("no answer after %v", t.timeout))
	defer cancel()
	question := strings.Join(words, " ")
	defer func() {
		if err != nil {
			err = fmt.Errorf("%q: %w", question, errors.Join(err, context.Cause(ctx)))
		}
	}()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.server.Addr())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintln(conn, question); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return nil, err
	}
	t.note(question, strings.TrimSpace(line))
	if answer = strings.Fields(line); len(answer) == 0 {
		return nil, errors.New("it answers by an empty line")
	}
	return answer, nil
}

// sendable reports whether a name can be a word of a request.
func sendable(name string) bool {
	apart := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, apart)
}

func (c *client) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return c.try(ctx, "trylock", scope)
}

func (c *client) try(ctx context.Context, op, scope string) (lock.Tenure, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !sendable(scope):
		return nil, fmt.Errorf("%s %q: %w", op, scope, fence.Definite.New("such a name is no word of the protocol"))
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	owner, asked := rand.Text(), time.Now()
	token, err := c.take(patient, scope, owner)
	switch {
	case errors.Is(err, lock.ErrLocked):
		return nil, fmt.Errorf("%s %q: %w", op, scope, err)
	case err != nil:
		return nil, &lock.UnknownError{Op: op, Scope: scope, Err: errors.Join(err, ctx.Err())}
	}
	grant := lock.Grant{Scope: scope, Owner: owner, Token: token}
	t := &tenure{client: c, grant: grant, until: asked.Add(c.ttl), done: make(chan struct{})}
	go t.hold()
	if c.renews {
		return t, nil
	}
	return fixed{t}, nil
}

// take asks for a lock once, and notes what the owner is told.
func (c *client) take(ctx context.Context, scope, owner string) (token fence.Token, err error) {
	c.said.tell(owner, "")
	answer, err := c.ask(ctx, "lock", scope, owner, c.milliseconds())
	if err != nil {
		return 0, err
	}
	c.said.tell(owner, answer[0])
	switch {
	case answer[0] == held:
		return 0, lock.ErrLocked
	case answer[0] == granted && len(answer) == 1:
		return 0, nil
	case answer[0] == granted && len(answer) == 2:
		return fence.ParseToken(answer[1])
	}
	return 0, wrongAnswer(answer, "granted, with a token or without, or held")
}

func wrongAnswer(answer []string, want string) error {
	return fmt.Errorf("it answers %.80q, want %s", strings.Join(answer, " "), want)
}

func (c *client) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	for {
		t, err := c.try(ctx, "lock", scope)
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollPause):
		}
	}
}

type tenure struct {
	client *client
	grant  lock.Grant
	done   chan struct{}

	mu    sync.Mutex
	until time.Time // by the holder's clock
	over  bool
	err   error
}

// fixed is a tenure that nobody renews.
type fixed struct{ *tenure }

func (f fixed) Until() time.Time { return f.lease() }

func (t *tenure) Grant() lock.Grant { return t.grant }

func (t *tenure) Done() <-chan struct{} { return t.done }

func (t *tenure) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *tenure) lease() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

func (t *tenure) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over, t.err = true, err
		close(t.done)
	}
}

// hold renews the lease, where the lock service does that, and ends the tenure with it.
func (t *tenure) hold() {
	for {
		next := t.lease()
		if t.client.renews {
			next = time.Now().Add(min(t.client.ttl/3, time.Until(next)))
		}
		select {
		case <-t.done:
			return
		case <-t.client.closed:
			return
		case <-time.After(time.Until(next)):
		}
		if !time.Now().Before(t.lease()) {
			t.end(lock.ErrCutOff)
			return
		}
		t.renew()
	}
}

func (t *tenure) renew() {
	ctx, cancel := context.WithDeadline(context.Background(), t.lease())
	defer cancel()
	asked := time.Now()
	answer, err := t.client.ask(ctx, "renew", t.grant.Scope, t.grant.Owner, t.client.milliseconds())
	switch {
	case err != nil: // the next attempt may be answered
	case answer[0] == renewed:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.until = asked.Add(t.client.ttl)
	default:
		t.end(lock.ErrLost)
	}
}

// Unlock asks the lock service always, also where the tenure is over: a service may free what is another's by then.
func (t *tenure) Unlock(ctx context.Context) error {
	t.end(nil)
	answer, err := t.client.ask(ctx, "unlock", t.grant.Scope, t.grant.Owner)
	switch {
	case err == nil && answer[0] == released:
		return nil
	case err == nil && answer[0] == gone:
		return fmt.Errorf("unlock %q: %w", t.grant.Scope, lock.ErrLost)
	case err == nil:
		err = wrongAnswer(answer, "released or gone")
	}
	return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: err}
}

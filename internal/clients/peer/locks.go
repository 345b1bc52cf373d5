package peer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// queueing is for how long a client waits in a queue that it does not leave.
const queueing = 24 * time.Hour

// asksAgain is how often a client asks whether it stands in the queue by now.
const asksAgain = 10 * time.Millisecond

// Client takes its locks in a process of another language. It is a service.Client.
type Client struct {
	*process
	timeout time.Duration
	program Program
	queues  bool // the library says who waits for a lock
	stops   bool // a collection stops its process for most of its time
}

var (
	_ service.Client      = (*Client)(nil)
	_ service.TokenReader = (*Client)(nil)
	_ service.Reentrant   = reentrant{}
)

// Of is the Client that locks are, or that is a part of them; nil: they have no second process.
func Of(locks service.Client) *Client {
	if half, is := locks.(interface{ half() *Client }); is {
		return half.half()
	}
	return nil
}

func (c *Client) half() *Client { return c }

// Program is what takes the locks: a command, to which what it is told of the client is added.
type Program struct {
	Language string   // as people write it
	Command  []string // the words of its command
	Env      []string
	Leaves   string // a file that it writes; "": none
	Collects bool   // it can be told to collect its garbage
}

// Start starts the program of a client. known are the settings that it is told of.
func Start(program Program, o service.Options, known []setting.Setting) (*Client, error) {
	p, err := start(program.Language, append(program.Command, arguments(o, known).Encode()), program.Env)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program.Command[0], err)
	}
	return &Client{process: p, timeout: o.Settings.Time(setting.Timeout), program: program}, nil
}

// Reach implements service.Client, as the methods below do.
func (c *Client) Reach(ctx context.Context) error {
	said, err := c.ask(ctx, "reach", url.Values{}, 0)
	c.queues = c.queues || said.Get("queues") == "true"
	if exit := new(exec.ExitError); errors.As(err, &exit) { // it has said why on standard error
		return backoff.Permanent(&cli.ExitError{Code: exit.ExitCode(), Err: err})
	}
	return err
}

// Limit says what the client does not do, though agents do: its error is about a command.
func (c *Client) Limit(command string) error {
	switch {
	case command == "in":
		return errors.New("no library here takes a lock in a tenure of another client")
	case command == "begin lock":
		return errors.New("this library takes a lock in one piece")
	case command == "queue" && !c.queues:
		return errors.New("this library does not say who waits for a lock")
	}
	return nil
}

func (c *Client) Lock(ctx context.Context, scope, _ string) (service.Tenure, error) {
	deadline, _ := ctx.Deadline()
	t, err := c.take(ctx, c.newTenure(scope), time.Until(deadline))
	if fence.OutcomeOf(err) == fence.Definite && err != nil {
		<-ctx.Done() // the library's clock may be a moment ahead
	}
	return t, err
}

func (c *Client) TryLock(ctx context.Context, scope, _ string) (service.Tenure, error) {
	return c.take(ctx, c.newTenure(scope), 0)
}

func (c *Client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
		t, err := c.TryLock(ctx, scope, "")
		if err == nil || fence.OutcomeOf(err) != fence.Definite {
			return t, err
		}
		next := c.newTenure(scope)
		waiter, err := next.ask(ctx, "waiter", url.Values{}, 0)
		if err != nil {
			return nil, err
		}
		waiting, over := context.WithCancel(ctx)
		defer over()
		go func() {
			if c.awaitPlace(waiting, scope, waiter.Get("name")) == nil {
				stands(waiter.Get("name"))
			}
		}()
		return c.take(ctx, next, queueing)
	})
}

// awaitPlace returns when a waiter stands in the queue of a lock.
func (c *Client) awaitPlace(ctx context.Context, scope, waiter string) error {
	for {
		said, err := c.ask(ctx, "stands", url.Values{"lock": {scope}, "name": {waiter}}, 0)
		if err != nil || said.Get("yes") == "true" {
			return err
		}
		select {
		case <-time.After(asksAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// newTenure is a tenure that is to be. The library does not know by which name the two processes call it.
func (c *Client) newTenure(scope string) tenure {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := tenure{Life: service.NewLife(), of: c, id: strconv.Itoa(len(c.tenures)), grant: lock.Grant{Scope: scope}}
	c.tenures[t.id] = t.Life
	return t
}

// take asks for the lock of t, and waits for it so long.
func (c *Client) take(ctx context.Context, t tenure, within time.Duration) (service.Tenure, error) {
	said, err := t.ask(ctx, "lock", url.Values{"lock": {t.grant.Scope}, "within": {nanoseconds(max(within, 0))}}, c.timeout)
	if err != nil {
		return nil, err
	}
	return t.granted(said)
}

// granted makes t what its process says of a grant.
func (t tenure) granted(said url.Values) (_ service.Tenure, err error) {
	t.grant.Owner = said.Get("name")
	token, err := strconv.ParseUint(said.Get("token"), 10, 64)
	t.grant.Token = fence.Token(token)
	if said.Get("reenters") == "true" {
		return reentrant{t}, err
	}
	return t, err
}

func (c *Client) ReadToken(ctx context.Context, scope string) (fence.Token, error) {
	said, err := c.ask(ctx, "token", url.Values{"lock": {scope}}, 0)
	if err != nil {
		return 0, fmt.Errorf("asked for the token of %s: %w", scope, err)
	}
	token, err := strconv.ParseUint(said.Get("token"), 10, 64)
	return fence.Token(token), err
}

func (c *Client) Close(context.Context) error {
	c.end()
	if c.program.Leaves == "" {
		return nil
	}
	return os.Remove(c.program.Leaves)
}

type tenure struct {
	*service.Life
	of    *Client
	id    string
	inner bool // taken while the lock was held: its end is not that of the tenure
	grant lock.Grant
}

// ask has the process do op with the tenure, on its thread.
func (t tenure) ask(ctx context.Context, op string, fields url.Values, patience time.Duration) (url.Values, error) {
	fields.Set("tenure", t.id)
	return t.of.ask(ctx, op, fields, patience)
}

func (t tenure) Grant() lock.Grant { return t.grant }

func (t tenure) Name() string { return t.grant.Owner }

func (t tenure) Session() string { return t.grant.Owner }

func (t tenure) Shown() (token fence.Token, remark string) { return t.grant.Token, "" }

func (t tenure) Unlock(ctx context.Context) error {
	_, err := t.ask(ctx, "unlock", url.Values{}, 0)
	if !t.inner {
		t.End(nil)
	}
	return err
}

// Look asks the library, or by it the lock service.
func (t tenure) Look(ctx context.Context, how string) (said string, err error) {
	question := fmt.Sprintf("asked its library (%s) whether it holds the lock: ", how)
	answer, err := t.ask(ctx, "look", url.Values{"look": {how}}, 0)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s%w", question, err)
	case answer.Get("yes") != "true":
		return "", service.NotHeld(question + "no")
	}
	return question + "yes", nil
}

// reentrant is a tenure of a lock that its holder can take again.
type reentrant struct{ tenure }

func (t reentrant) Again(ctx context.Context) (service.Tenure, error) {
	said, err := t.ask(ctx, "again", url.Values{}, 0)
	if err != nil {
		return nil, err
	}
	t.inner = true
	return t.granted(said)
}

func nanoseconds(d time.Duration) string { return strconv.FormatInt(d.Nanoseconds(), 10) }

// arguments are what a process is told of a client: where the lock service is, and the settings by name.
func arguments(o service.Options, known []setting.Setting) url.Values {
	fields := url.Values{"endpoints": {strings.Join(o.Endpoints, ",")}}
	for _, s := range known {
		text := o.Settings.Text(s.Name)
		if s.Kind == setting.Time {
			text = nanoseconds(o.Settings.Time(s.Name))
		}
		if s.Name == service.By {
			text = text[strings.Index(text, "/")+1:] // without the language, where it names one
		}
		fields.Set(s.Name, text)
	}
	return fields
}

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// locks are those of a library, for one client.
type locks interface {
	reach(ctx context.Context) error
	// lock takes a lock until ctx is done; with once it does not wait. errRefused: another tenure has the lock.
	lock(ctx context.Context, name string, once bool) (tenure, error)
	close() error
}

// named are locks whose tenures have the names that the agent gives them, also while they wait for a lock.
type named interface {
	lockAs(ctx context.Context, name, owner string, once bool) (tenure, error)
}

// tenure is a lock that was granted.
type tenure interface {
	// name is what the lock service's own account calls the tenure; the token came with the grant, and 0 is none.
	name() (name string, token int64)
	// held asks the library, or by it the lock service, whether the tenure goes on.
	held(ctx context.Context) (bool, error)
	// acquired is what the library itself believes, without a question to the lock service. errRefused: it has no such question.
	acquired() (bool, error)
	// unlock releases the lock. An error that is over says that the tenure was over before.
	unlock(ctx context.Context) error
}

// teller is a tenure of a library that tells its holder of a loss.
type teller interface {
	// told reports whether the library has done so.
	told() bool
}

// ending is a tenure whose library says when it is lost: nobody asks.
type ending interface {
	lost() <-chan struct{}
}

// errRefused says that something was not done, and will not be.
var errRefused = errors.New("another tenure has the lock")

// over says that a tenure was over before it was to be released.
type over struct{ error }

// obeyInput is the program of a client: line has its settings, and its input is what it is asked.
func obeyInput(line string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT) // they are for the other half, which releases the locks
	a := &agent{held: make(map[string]*holding), waits: make(map[string]context.CancelFunc)}
	err := a.open(line)
	if err == nil {
		err = a.obey(os.Stdin)
	}
	return err
}

func exit(err error) {
	code := 0
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if errors.As(err, new(unknown)) {
		code = 2
	}
	os.Exit(code)
}

type agent struct {
	settings settings
	locks    locks

	mu    sync.Mutex
	held  map[string]*holding
	waits map[string]context.CancelFunc
	out   sync.Mutex
	busy  sync.WaitGroup
}

// holding is a tenure from the first attempt to take the lock to its release. One thing is done after the other.
type holding struct {
	turn     sync.Mutex
	owner    string // the name of the tenure that is to be; "": the library names it
	tenure   tenure // nil: there is none yet, or no longer
	released chan struct{}
}

func (a *agent) open(line string) (err error) {
	if a.settings, err = parse(line); err != nil {
		return err
	}
	a.locks, err = open(a.settings)
	return err
}

// obey does what is asked until the input ends, and waits for what is under way.
func (a *agent) obey(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		ask, err := url.ParseQuery(lines.Text())
		if err != nil {
			return err
		}
		a.mu.Lock()
		if ask.Get("op") == "cancel" {
			if cancel := a.waits[ask.Get("of")]; cancel != nil {
				cancel()
			}
			a.mu.Unlock()
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		a.waits[ask.Get("id")] = cancel
		id := ask.Get("tenure")
		of := a.held[id]
		if of == nil && id != "" {
			of = &holding{released: make(chan struct{})}
			a.held[id] = of
		}
		a.mu.Unlock()
		a.busy.Go(func() {
			defer cancel()
			if of != nil && ask.Get("op") != "told" {
				of.turn.Lock()
				defer of.turn.Unlock()
			}
			a.answer(ctx, ask, of)
		})
	}
	done := make(chan struct{})
	go func() { a.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(a.settings.timeout):
	}
	return a.locks.close()
}

func (a *agent) answer(ctx context.Context, ask url.Values, of *holding) {
	id, op := ask.Get("id"), ask.Get("op")
	learned, err := a.act(ctx, ask, of)
	a.mu.Lock()
	delete(a.waits, id)
	a.mu.Unlock()
	if op == "lock" && err == nil && ctx.Err() != nil { // nobody waits for it any more
		if err = of.tenure.unlock(context.Background()); err == nil {
			of.tenure, err = nil, errRefused
		}
	}
	said := url.Values{"id": {id}, "end": {endOf(err)}}
	if err != nil {
		said.Set("text", err.Error())
	}
	for name, values := range learned {
		said[name] = values
	}
	a.say(said)
	switch {
	case op == "lock" && of.tenure != nil:
		if e, tells := of.tenure.(ending); tells {
			go a.hear(ask.Get("tenure"), of, e)
		} else {
			go a.watch(ask.Get("tenure"), of)
		}
	case op == "unlock" && of.tenure == nil:
		close(of.released)
	}
	if (op == "lock" || op == "unlock") && of.tenure == nil {
		a.mu.Lock()
		delete(a.held, ask.Get("tenure"))
		a.mu.Unlock()
	}
}

func endOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(over)):
		return "over"
	case errors.Is(err, errRefused):
		return "no"
	}
	return "unknown"
}

func (a *agent) say(fields url.Values) {
	a.out.Lock()
	defer a.out.Unlock()
	_, _ = io.WriteString(os.Stdout, fields.Encode()+"\n") // who has gone reads no error either
}

func (a *agent) act(ctx context.Context, ask url.Values, of *holding) (learned url.Values, err error) {
	switch ask.Get("op") {
	case "reach":
		_, queues := a.locks.(named)
		return url.Values{"queues": {strconv.FormatBool(queues)}}, a.locks.reach(ctx)
	case "waiter":
		of.owner = rand.Text()
		return url.Values{"name": {of.owner}}, nil
	case "stands": // since its first attempt was refused
		return url.Values{"yes": {"true"}}, nil
	case "lock":
		within, err := strconv.ParseInt(ask.Get("within"), 10, 64)
		if err != nil {
			return nil, err
		}
		once := within == 0
		if once {
			within = int64(a.settings.timeout)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(within))
		defer cancel()
		take := a.locks.lock
		if of.owner != "" {
			take = func(ctx context.Context, scope string, once bool) (tenure, error) {
				return a.locks.(named).lockAs(ctx, scope, of.owner, once)
			}
		}
		granted, err := take(ctx, ask.Get("lock"), once)
		if err != nil {
			return nil, err
		}
		of.tenure = granted
		name, token := of.tenure.name()
		return url.Values{"name": {name}, "token": {strconv.FormatInt(token, 10)}, "reenters": {"false"}}, nil
	case "unlock":
		err := of.tenure.unlock(ctx)
		if err == nil || errors.As(err, new(over)) {
			of.tenure = nil
		}
		return nil, err
	case "look":
		yes, err := false, error(nil)
		if ask.Get("look") == "acquired" {
			yes, err = of.tenure.acquired()
		} else {
			yes, err = of.tenure.held(ctx)
		}
		return url.Values{"yes": {strconv.FormatBool(yes)}}, err
	case "told":
		t, tells := of.tenure.(teller)
		if !tells {
			return nil, fmt.Errorf("this library tells nobody of a loss: %w", errRefused)
		}
		return url.Values{"yes": {strconv.FormatBool(t.told())}}, nil
	case "send":
		return a.send(ctx, ask)
	}
	return nil, fmt.Errorf("the process in Go does not know %s: %w", ask.Get("op"), errRefused)
}

// hear says that a tenure is lost, when the library says so.
func (a *agent) hear(id string, of *holding, e ending) {
	select {
	case <-of.released:
	case <-e.lost():
		a.say(url.Values{"lost": {id}})
	}
}

// watch says that a tenure is lost. A library that tells nobody is asked every third of the TTL. If no answer comes for a
// TTL, the tenure counts as lost. Who stood still for so long asks once more.
func (a *agent) watch(id string, of *holding) {
	ttl := a.settings.ttl
	for seen, answered := time.Now(), true; ; {
		wait := ttl / 3
		if !answered {
			wait = min(wait, time.Until(seen.Add(ttl)))
		}
		select {
		case <-of.released:
			return
		case <-time.After(wait):
		}
		asks := time.Now()
		within := seen.Add(ttl).Sub(asks)
		if answered {
			within = max(within, ttl/3)
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		of.turn.Lock()
		held, err := true, error(nil)
		if of.tenure != nil {
			held, err = of.tenure.held(ctx)
		}
		of.turn.Unlock()
		cancel()
		if answered = err == nil; answered {
			seen = asks
		} else {
			held = time.Since(seen) < ttl
		}
		if !held {
			a.say(url.Values{"lost": {id}})
			return
		}
	}
}

// send sends a request to the storage, over a connection of its own.
func (a *agent) send(ctx context.Context, ask url.Values) (url.Values, error) {
	request, err := http.NewRequestWithContext(ctx, ask.Get("method"), ask.Get("url"), strings.NewReader(ask.Get("body")))
	if err != nil {
		return nil, err
	}
	for _, header := range ask["header"] {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: a.settings.timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) { // nothing was sent
		return url.Values{"refused": {err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return nil, err
	}
	said := url.Values{"status": {strconv.Itoa(got.StatusCode)}, "body": {string(body)}}
	for name, values := range got.Header {
		for _, value := range values {
			said.Add("header", name+": "+value)
		}
	}
	return said, nil
}

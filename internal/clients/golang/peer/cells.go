package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience is for how long a client waits for a lock that will be free.
const patience = 30 * time.Second

// story is of two clients of a library.
type story struct {
	settings settings
	one, two locks
	between  *relay // between one and its server
}

// cells tells the stories of the table in docs/libraries-go.md with a library, and says the facts, a line each: a name, a
// tab, a fact.
func cells(line string) error {
	s := story{}
	var err error
	if s.settings, err = parse(line); err != nil {
		return err
	}
	if s.two, err = open(s.settings); err != nil {
		return err
	}
	if s.between, err = startRelay(s.settings.endpoints[0]); err != nil {
		return err
	}
	through := s.settings
	through.endpoints = []string{s.between.addr()}
	if s.one, err = open(through); err != nil {
		return err
	}
	if err := errors.Join(s.one.reach(context.Background()), s.two.reach(context.Background())); err != nil {
		return err
	}
	for _, tell := range []func() error{s.taking, s.lateUnlock, s.answers} {
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}

func say(name, fact string) { fmt.Printf("%s\t%s\n", name, fact) }

func (s story) taking() error {
	held, err := take(s.one, "/taken", 0)
	if err != nil {
		return err
	}
	token := "none"
	if _, number := held.name(); number > 0 {
		token = "the revision of its key"
	}
	say("token", token)
	say("taken while another client has it", attempt(s.two, "/taken", 0))
	say("taken again by the same client", attempt(s.one, "/taken", 0))
	say("a wait for 1 s", attempt(s.two, "/taken", time.Second))
	if err := held.unlock(context.Background()); err != nil {
		return err
	}
	say("after the unlock", attempt(s.two, "/taken", 0))

	if held, err = take(s.one, "/renewed", 0); err != nil {
		return err
	}
	time.Sleep(s.settings.ttl + 2*time.Second)
	goes, err := held.held(context.Background())
	fact := "the lock is over"
	if goes {
		fact = "it renews the lock"
	}
	say("held for longer than the TTL", fact)
	return err
}

func (s story) lateUnlock() error {
	held, next, err := s.succeed("/late")
	if err != nil {
		return err
	}
	if err := next.unlock(context.Background()); err != nil {
		return err
	}
	believes, err := held.acquired()
	fact := map[bool]string{true: "that it holds the lock", false: "that it has lost the lock"}[believes]
	if errors.Is(err, errRefused) {
		fact = "it keeps no state"
	}
	say("after a loss the library itself believes", fact)
	say("late unlock, nobody has the lock", answerOf(held.unlock(context.Background())))
	if held, next, err = s.succeed("/next"); err != nil {
		return err
	}
	fact = answerOf(held.unlock(context.Background()))
	if goes, err := next.held(context.Background()); err != nil || !goes {
		fact += ", and frees its lock"
	}
	say("late unlock, another one has the lock", fact)
	return nil
}

// answers is about requests whose answers come late or never, in Redis: etcd's client has many requests under way.
func (s story) answers() error {
	if _, is := s.one.(*elections); is {
		return nil
	}
	before := s.between.asked.Load()
	if held, err := take(s.one, "/cost", 0); err != nil {
		return err
	} else if err := held.unlock(context.Background()); err != nil {
		return err
	}
	say("requests for a lock and its unlock", fmt.Sprint(s.between.asked.Load()-before))
	s.between.begin(dropsOne)
	say("an answer that is lost", s.taken("/lost"))
	say("then another client's attempt", attempt(s.two, "/lost", 0))
	s.between.begin(holds)
	answered := make(chan string)
	go func() { answered <- s.taken("/slow") }()
	time.Sleep(s.settings.ttl + time.Second)
	s.between.begin(passes)
	say("an answer that comes after the lease", <-answered)
	return nil
}

// taken takes a lock, and tells whether it is held.
func (s story) taken(name string) string {
	held, err := take(s.one, name, 0)
	switch {
	case errors.Is(err, errRefused):
		return "refused"
	case err != nil:
		return "an error"
	}
	if goes, err := held.held(context.Background()); err != nil || !goes {
		return "granted, though the lock is held no more"
	}
	return "granted, and the lock is held"
}

// succeed lets a lease run out, or ends the session, and has the other client take the lock.
func (s story) succeed(name string) (held, next tenure, err error) {
	if held, err = take(s.one, name, 0); err != nil {
		return nil, nil, err
	}
	if e, is := held.(*electionTenure); is {
		if err := e.lose(context.Background()); err != nil {
			return nil, nil, err
		}
	}
	next, err = take(s.two, name, patience)
	return held, next, err
}

func take(of locks, name string, within time.Duration) (tenure, error) {
	once := within == 0
	if once {
		within = patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return of.lock(ctx, name, once)
}

func attempt(of locks, name string, within time.Duration) string {
	held, err := take(of, name, within)
	if err == nil {
		err = held.unlock(context.Background())
	}
	switch {
	case err == nil:
		return "granted"
	case errors.Is(err, errRefused):
		return "refused"
	}
	return answerOf(err)
}

// answerOf is what somebody is told who does something.
func answerOf(err error) string {
	if err == nil {
		return "returns, and says nothing"
	}
	if o := new(over); errors.As(err, o) {
		err = o.error
	}
	return fmt.Sprintf("returns the error `%v`", err)
}

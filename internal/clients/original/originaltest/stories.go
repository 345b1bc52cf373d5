package originaltest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// story is of three clients with the same library.
type story struct {
	*testing.T
	of              Library
	stage           *stage.Stage
	endpoints       []string // of the servers
	one, two, three *client
	cannotWait      bool // each wait of the library fails
	asks            bool // its waiter asks again and again
	facts           [][2]string
}

// locks are those of the stories. A story does not find a lock as another one has left it.
var locks = []string{"/taken", "/waited-for", "/given-up", "/cost", "/handed-over", "/renewed", "/late", "/next", "/cut", "/slow", "/connected", "/lost", "/dead"}

// tell tells the stories of a library, and returns the facts: a name and what was seen.
func (l Library) tell(t *testing.T) [][2]string {
	world, err := setting.Complete(l.Service.World, l.World)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{T: t, of: l}
	if s.stage, err = stage.Open(t.Context(), os.Args[0], l.Service, world, nil, locks); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stage.Close() })
	s.endpoints, err = s.stage.Servers.Endpoints(t.Context(), setting.Defaults(l.Service.Client))
	if err != nil {
		t.Fatal(err)
	}
	s.one, s.two, s.three = s.open(), s.open(), s.open()

	renewed, _ := s.three.have("/renewed")
	began := time.Now()
	s.taking()
	s.waiting()
	s.givingUp()
	s.cost()
	s.handingOver()
	s.renewing(renewed, began)
	s.losing()
	s.answers()
	s.dying()
	return s.facts
}

func (s *story) say(name, fact string) { s.facts = append(s.facts, [2]string{name, fact}) }

// words are what a program is told that asks for a lock.
func (s *story) words(a answer) string {
	switch {
	case a.granted():
		return "granted"
	case a.is("no"):
		return "refused"
	}
	return s.failure(a)
}

// raises is how a language says that something fails, and whether it has a name for that.
var raises = map[string]struct {
	verb  string
	named bool
}{"python": {"raises", true}, "node": {"throws", true}, "java": {"throws", true}, "go": {"returns the error", false}, "rust": {"returns the error", false}}

// failure is what a program is told by something that fails.
func (s *story) failure(a answer) string {
	text := a.Get("text")
	if value, is := strings.CutPrefix(text, "release returns "); is {
		return "returns `" + value + "`"
	}
	name, _, is := strings.Cut(text, ": ")
	how := raises[s.of.Language]
	switch {
	case how.named && !is:
		return "returns, and says nothing" // the text is the client's
	case how.named:
		return how.verb + " `" + name + "`"
	case a.is("unknown"):
		return "returns an error" // its text can have an address, or a time
	}
	return how.verb + " `" + text + "`"
}

// taking is about a lock that one client holds, and a newcomer wants.
func (s *story) taking() {
	s.inTime(func() time.Time {
		held, granted := s.one.have("/taken")
		token := "none"
		if granted.Get("token") != "0" {
			token = s.of.Token
		}
		s.say("token", token)
		s.say("taken while another client has it", s.words(s.two.try("/taken", 0)))
		again := "–"
		if !s.of.Registries {
			again = s.words(s.again(held, granted))
		}
		s.say("taken again by its holder", again)
		s.say("a wait for 1 s", s.words(s.two.try("/taken", time.Second)))
		needed := time.Now()
		held.unlock()
		return needed
	})
}

// waiting is about a lock that one client holds, another one waits for, and the holder wants again.
func (s *story) waiting() {
	s.inTime(func() time.Time {
		held, _ := s.one.have("/waited-for")
		waiter := s.two.tenure("/waited-for")
		before := s.two.requests()
		answered := waiter.takes(s.Context(), patience)
		asks, failed := s.settle(before, answered, 10, time.Second)
		s.asks, s.cannotWait = asks, failed.Values != nil
		s.say("a waiter", s.waits(failed))
		if s.cannotWait {
			s.say("fair", "–")
			needed := time.Now()
			held.unlock()
			s.say("after the unlock", s.words(s.two.try("/waited-for", 0)))
			return needed
		}
		s.two.pause()
		// Its last request can be under way. HTTP/2 also sends what is never answered.
		for until := time.Now().Add(time.Second); asks && s.two.doors[0].asks() && time.Now().Before(until); {
			time.Sleep(asksAgain)
		}
		needed := time.Now()
		held.unlock()
		fair := "yes"
		if s.one.try("/waited-for", 0).granted() {
			fair = "no"
		}
		s.say("fair", fair)
		s.two.resume()
		said := <-answered
		s.say("after the unlock", s.words(said))
		if said.granted() {
			waiter.unlock()
		}
		return needed
	})
}

// again takes a lock once more, and gives it back, if it was granted.
func (s *story) again(held tenure, granted answer) answer {
	said := answer{}
	if granted.Get("reenters") == "true" {
		said = held.again()
	} else {
		said = held.take(s.Context(), 0)
	}
	if said.granted() {
		held.unlock()
	}
	return said
}

// settle returns when a waiter asks nothing any more for the time quiet, and reports whether it asks more than so many times
// instead. A wait that is over already has failed. The time is counted in looks: where the story stood still, its waiter did.
func (s *story) settle(before cost, answered <-chan answer, again int, quiet time.Duration) (asks bool, failed answer) {
	s.Helper()
	seen, still := 0, 0
	for until := time.Now().Add(patience); time.Now().Before(until); {
		select {
		case said := <-answered:
			return false, said
		case <-time.After(asksAgain):
		}
		if n := s.two.requests().minus(before).requests; n > seen {
			seen, still = n, 0
		}
		still++
		switch {
		case seen > again:
			return true, answer{}
		case seen > 0 && still > int(quiet/asksAgain):
			return false, answer{}
		}
	}
	s.Fatal("the waiter asks nothing")
	return false, answer{}
}

func (s *story) waits(failed answer) string {
	switch {
	case failed.Values != nil:
		return s.words(failed)
	case s.of.Asks:
		return "the client asks"
	case s.asks:
		return "asks again and again"
	}
	return "is told by the server"
}

// givingUp is about a waiter that is told to give up.
func (s *story) givingUp() {
	const (
		name   = "a waiter gives up"
		wait   = ttl - time.Second // else the holder's lease would end the wait; a library can wait for whole seconds
		atOnce = time.Second / 2
	)
	if s.of.Asks || s.cannotWait {
		s.say(name, "–")
		return
	}
	free := true
	took := fastest(atOnce, func() time.Duration {
		held, _ := s.one.have("/given-up")
		waiter := s.two.tenure("/given-up")
		ctx, giveUp := context.WithCancel(s.Context())
		defer giveUp()
		before, waits := s.two.requests(), time.Now()
		answered := waiter.takes(ctx, wait)
		_, said := s.settle(before, answered, 3, ttl/10)
		left := wait - time.Since(waits)
		began := time.Now()
		giveUp()
		if said.Values == nil {
			said = <-answered
		}
		took := time.Since(began)
		if said.granted() { // the holder's lease was over before
			waiter.unlock()
		}
		held.unlock()
		free = s.one.try("/given-up", 0).granted()
		if said.granted() || left < wait/2 {
			return patience // it says nothing of giving up
		}
		return took
	})
	fact := s.within(took, "the end of a wait", bound{atOnce, "at once"}, bound{patience, "when its time is over"})
	if !free {
		fact += ", and the lock is not free then"
	}
	s.say(name, fact)
}

// cost counts the requests of the fewest that a client sends for a lock and its unlock: the others began a connection. What
// takes as long as a third of the TTL, as on a machine with much to do, has renewals among them.
func (s *story) cost() {
	const name = "requests, round trips"
	if s.of.Connects {
		s.say(name, "–")
		return
	}
	const quiet = time.Second / 5 // a library's last request can come when its unlock has returned
	within := time.Second         // an attempt without a wait can ask for more
	if s.cannotWait {
		within = 0
	}
	least, counted := cost{}, 0
	for until := time.Now().Add(patience); counted < 4; {
		before, began := s.one.requests(), time.Now()
		s.one.try("/cost", within)
		took := time.Since(began)
		time.Sleep(quiet)
		if took > ttl/3 && time.Now().Before(until) {
			continue
		}
		if c := s.one.requests().minus(before); counted == 0 || c.requests < least.requests {
			least = c
		}
		counted++
	}
	least = least.minus(cost{s.of.Own, s.of.Own})
	s.say(name, fmt.Sprintf("%d, %d", least.requests, least.trips))
}

// renewing is about a lock that is held for longer than its lease. A client that gets no processor loses also a lease that it
// renews: a lock that was lost is taken once more.
func (s *story) renewing(held tenure, began time.Time) {
	if s.outlived(began) {
		held, _ = s.one.have("/renewed")
		if s.outlived(time.Now()) {
			s.say("renewed", "no")
			return
		}
	}
	held.unlock()
	s.two.have("/renewed")
	s.say("renewed", "until the unlock, or the end of its process") // dying shows the second
}

// outlived reports whether the lock is free after its lease.
func (s *story) outlived(began time.Time) bool {
	time.Sleep(time.Until(began.Add(ttl + 2*time.Second)))
	return s.two.try("/renewed", 0).granted()
}

// dying is about a holder whose process is killed.
func (s *story) dying() {
	const afterTTL = 3 * time.Second // a server or a waiter may take so long to see the end of a lease
	took := fastest(ttl+afterTTL, func() time.Duration {
		if s.three.Ended() != nil { // the story was told before
			s.three = s.open()
		}
		s.three.have("/dead")
		s.three.kill()
		began := time.Now()
		next, _ := s.two.have("/dead")
		took := time.Since(began)
		next.unlock()
		return took
	})
	s.say("its holder is killed", s.within(took, "the lock of a dead holder", bound{ttl + afterTTL, "the lock is free after the TTL"}))
}

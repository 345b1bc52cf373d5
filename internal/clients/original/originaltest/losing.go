package originaltest

import "time"

// losing is about the loss of a lock: of one client that stands still, and of another one that is cut off.
func (s *story) losing() {
	next, _ := s.one.have("/next")
	cut, _ := s.three.have("/cut")
	var late tenure
	var whileCut string
	s.say("told of a loss, after a pause", s.toldWithin(func() (tells bool, took time.Duration) {
		if whileCut != "" { // the story was told before
			late.unlock()
		}
		late, _ = s.one.have("/late")
		s.one.awaitRenewal()
		s.one.pause()
		if whileCut == "" {
			whileCut = s.whileCut(cut)
		}
		taken, _ := s.two.have("/late")
		taken.unlock()
		s.one.resume()
		began := time.Now()
		tells = <-s.awaitTold(late)
		return tells, time.Since(began)
	}))
	s.say("told of a loss, while it is cut off", whileCut)

	belief := "it keeps no state"
	switch said := late.believes(); {
	case !said.granted():
	case said.Get("yes") == "true":
		belief = "that it holds the lock"
	default:
		belief = "that it has lost the lock"
	}
	s.say("after a loss the library itself believes", belief)
	s.say("late unlock, nobody has the lock", s.unlocks(late))
	s.two.have("/next") // only now: the lease of who has it is not to end before the answer
	fact := s.unlocks(next)
	if s.three.try("/next", 0).granted() {
		fact += ", and frees its lock"
	}
	s.say("late unlock, another one has the lock", fact)
}

func (s *story) unlocks(t tenure) string {
	said := t.unlock()
	if said.granted() {
		return "returns, and says nothing"
	}
	return s.failure(said)
}

// awaitTold asks a client again and again whether it was told of a loss. The channel gets yes once, or no, if the library
// tells nobody. After patience the answer is yes, too, and has taken so long.
func (s *story) awaitTold(t tenure) <-chan bool {
	told := make(chan bool, 1)
	go func() {
		for until := time.Now().Add(patience); ; time.Sleep(asksAgain) {
			said := t.told()
			if !said.granted() || said.Get("yes") == "true" || time.Now().After(until) || s.Context().Err() != nil {
				told <- said.granted()
				return
			}
		}
	}()
	return told
}

const byNobody = "by nobody"

// toldWithin is within what time a client is told of a loss, if part says that it is.
func (s *story) toldWithin(part func() (tells bool, took time.Duration)) string {
	s.Helper()
	tells := true
	best := fastest(ttl/3, func() (took time.Duration) {
		tells, took = part()
		return took
	})
	if !tells {
		return byNobody
	}
	return s.within(best, "the news of a loss", bound{ttl / 3, "within a third of the TTL"}, bound{ttl, "within the TTL"})
}

const notBefore = "not before the connection is back"

// whileCut says whether a client is told that is cut off. Where it is not, the part is told again, by a client that has just
// begun.
func (s *story) whileCut(cut tenure) string {
	for range mostFastest - 1 {
		if fact := s.cuttingOff(cut); fact != notBefore {
			return fact
		}
		cut, _ = s.open().have("/cut")
	}
	return s.cuttingOff(cut)
}

// cuttingOff cuts a holder off, and says whether it is told without its server. Another one gets its lock, and releases it: who
// goes by the lease is told before or after that.
func (s *story) cuttingOff(cut tenure) (fact string) {
	cut.of.cutOff()
	defer cut.of.join()
	told := s.awaitTold(cut)
	taken, _ := s.two.have("/cut")
	defer taken.unlock()
	for range 2 * ttl / asksAgain { // a library can wait for twice the TTL
		select {
		case yes := <-told:
			if yes {
				return "by its own clock"
			}
			return byNobody
		case <-time.After(asksAgain):
		}
	}
	return notBefore
}

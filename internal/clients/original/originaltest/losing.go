package originaltest

import "time"

// losing is about the loss of a lock: of one client that stands still, and of another one that is cut off.
func (s *story) losing() {
	late, _ := s.one.have("/late")
	next, _ := s.one.have("/next")
	cut, _ := s.three.have("/cut")
	time.Sleep(ttl / 2) // a renewal has been answered
	s.one.pause()
	s.three.cutOff()
	told := s.awaitTold(cut)
	taken, _ := s.two.have("/late")
	s.two.have("/cut")
	whileCut := s.toldWhileCut(told)
	taken.unlock()
	s.one.resume()
	s.say("told of a loss, after a pause", s.toldAfter(time.Now(), s.awaitTold(late)))
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
// tells nobody.
func (s *story) awaitTold(t tenure) <-chan bool {
	told := make(chan bool, 1)
	go func() {
		for until := time.Now().Add(patience); time.Now().Before(until) && s.Context().Err() == nil; time.Sleep(asksAgain) {
			said := t.told()
			if !said.granted() || said.Get("yes") == "true" {
				told <- said.granted()
				return
			}
		}
	}()
	return told
}

const byNobody = "by nobody"

// toldAfter says within what time a client is told.
func (s *story) toldAfter(began time.Time, told <-chan bool) string {
	s.Helper()
	select {
	case yes := <-told:
		switch took := time.Since(began); {
		case !yes:
			return byNobody
		case took <= ttl/3:
			return "within a third of the TTL"
		case took <= ttl:
			return "within the TTL"
		}
	case <-time.After(patience):
	}
	s.Error("the client is not told of its loss within the TTL")
	return ""
}

// toldWhileCut says whether a client that is cut off is told without its server. Another one has just got its lock: who
// goes by the lease is told before or after that.
func (s *story) toldWhileCut(told <-chan bool) (fact string) {
	defer s.three.join()
	select {
	case yes := <-told:
		if yes {
			return "by its own clock"
		}
		return byNobody
	case <-time.After(2 * ttl): // a library can wait for twice the TTL
		return "not before the connection is back"
	}
}

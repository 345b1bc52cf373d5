package originaltest

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/network"
)

// answers are about requests to Redis whose answers come late or never. Clients of the other services have many requests
// under way.
func (s *story) answers() {
	if s.of.Service.Name != "redis" {
		return
	}
	link := s.one.doors[0].link
	answered, taken := s.asked(link, "/lost")
	if !taken { // the library asks for something else before
		link.Rx.Open()
		<-answered
		s.say("an answer that is lost", "–")
		s.say("an answer that comes after the lease", "–")
		return
	}
	link.Cut()
	link.Rx.Open()
	said := <-answered
	fact := s.words(said)
	switch free := s.two.try("/lost", 0).granted(); {
	case said.granted() && free:
		fact += ", though nobody has the lock"
	case said.granted():
	case free:
		fact += ", and the lock is free"
	default:
		fact += ", and the lock stays until its lease is over"
	}
	s.say("an answer that is lost", fact)

	answered, _ = s.asked(link, "/slow")
	time.Sleep(ttl + time.Second)
	link.Rx.Open()
	said = <-answered
	fact = s.words(said)
	if said.granted() && s.two.try("/slow", 0).granted() {
		fact += ", though the lock is held no more"
	}
	s.say("an answer that comes after the lease", fact)
}

// asked asks for a lock, and keeps the answers back. It returns when the server has granted the lock, or for the TTL has
// not.
func (s *story) asked(link *network.Link, lock string) (answered <-chan answer, taken bool) {
	link.Rx.Shut()
	answered = s.one.tenure(lock).takes(s.Context(), 0)
	ctx, cancel := context.WithTimeout(s.Context(), ttl)
	defer cancel()
	err := s.stage.Await(ctx, "the grant of "+lock, func(a *stage.Account) bool { return granted(a, lock) })
	return answered, err == nil
}

func granted(a *stage.Account, lock string) bool {
	for _, e := range a.Tenures {
		if e.Kind == history.KindGranted && e.Scope == lock {
			return true
		}
	}
	return false
}

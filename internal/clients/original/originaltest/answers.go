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
	late, lost := "–", "–"
	link := s.one.doors[0].link
	if answered, taken := s.asked(link, "/slow"); taken {
		late, lost = s.late(link, answered), s.lost(link)
	} else { // the library asks for something else before
		link.Rx.Open()
		<-answered
	}
	s.say("an answer that is lost", lost)
	s.say("an answer that comes after the lease", late)
}

// late is about an answer that is kept back until the lease is over.
func (s *story) late(link *network.Link, answered <-chan answer) string {
	time.Sleep(ttl + time.Second)
	link.Rx.Open()
	said := <-answered
	fact := s.words(said)
	if said.granted() && s.two.try("/slow", 0).granted() {
		fact += ", though the lock is held no more"
	}
	return fact
}

// lost is about an answer whose connection breaks. It comes after late: a client can have more connections, and it takes
// time until it knows that all of them are broken.
func (s *story) lost(link *network.Link) string {
	before, _ := s.one.have("/connected") // a client may have given its connection up
	before.unlock()
	answered, taken := s.asked(link, "/lost")
	if !taken {
		s.Error("the lock is not granted over a connection that is there")
	}
	link.Cut()
	link.Rx.Open()
	began, said := time.Now(), <-answered
	fact := s.words(said)
	switch free := s.two.try("/lost", 0).granted(); {
	case said.granted() && free:
		fact += ", though nobody has the lock"
	case said.granted():
	case time.Since(began) > ttl:
		fact += ", when its lease is over"
	case free:
		fact += ", and the lock is free"
	default:
		fact += ", and the lock stays until its lease is over"
	}
	return fact
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

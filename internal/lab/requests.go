package lab

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

func (c *clientState) sends(e history.Event) bool {
	i := c.isTold(e)
	if i >= 0 {
		c.sending = slices.Delete(c.sending, i, i+1)
	}
	return i >= 0
}

// isTold is the place of a request among those that it was told to send, -1 if it was not.
func (c *clientState) isTold(e history.Event) int {
	return slices.IndexFunc(c.sending, func(w history.Change) bool {
		return w == history.Change{} || w == history.Change{Key: e.Key, Value: e.Value}
	})
}

// told reports whether the account that an answer speaks of has spoken too.
func (s *state) told(reply history.Event) bool {
	t := s.ledger.Tenure(reply.Tenure)
	switch {
	case reply.Request != "" && (reply.Kind == history.KindOK || reply.Reason != ""):
		return s.ledger.Request(reply.Request).Done()
	case reply.Request != "" || reply.Kind != history.KindOK:
		return true
	case reply.Op == history.OpUnlock:
		goesOn := func(k *owner) bool { return k.Client != "" && !k.Ended.Came() }
		return s.committed(reply.Tenure) && t.Ended.Came() && !slices.ContainsFunc(s.kin(reply.Tenure), goesOn)
	case history.AsksForLock(reply.Op):
		return t.Granted.Came()
	}
	return true
}

// committed reports whether the storage has told of all that a tenure's transaction has done.
func (s *state) committed(tenure string) bool {
	return !slices.ContainsFunc(s.ledger.Requests, func(q *history.Request) bool {
		return q.Pending && q.Invoke.Tenure == tenure && q.Known() && !q.Done()
	})
}

// sentBy are the requests that a client sent and that nobody waited for, in order.
func (s *state) sentBy(client string) (list []*history.Request) {
	for _, q := range s.sent {
		if q.Invoke.Lane == client {
			list = append(list, q)
		}
	}
	return list
}

func (s *state) askedBy(client string) (n int) {
	for _, q := range s.ledger.Requests {
		if q.Invoke.Lane == client {
			n++
		}
	}
	return n
}

// underWay are those of them that are on their way to the storage.
func (s *state) underWay(client string) []*history.Request {
	return slices.DeleteFunc(s.sentBy(client), (*history.Request).Done)
}

// arrived reports whether the storage has told of all that a client was to send.
func (s *state) arrived(client string) bool {
	return len(s.client(client).sending) == 0 && len(s.underWay(client)) == 0
}

// unreachable reports whether no answer of the storage comes to a client.
func (c *clientState) unreachable() bool { return c.deaf || c.stopped() }

// accounted reports whether lock service and storage, who may be slow, told of all that clients know.
func (s *state) accounted() bool {
	for _, o := range s.owners {
		if o.told != 0 && !o.Granted.Came() && !o.Ended.Came() {
			return false
		}
	}
	return !slices.ContainsFunc(s.ledger.Requests, func(q *history.Request) bool { return q.Known() && !q.Done() })
}

// settled reports whether a client knows what came of all that the storage told of, or cannot know it.
func (s *state) settled(client string) bool {
	return s.client(client).unreachable() ||
		!slices.ContainsFunc(s.sentBy(client), func(q *history.Request) bool { return q.Done() && q.Answer.Kind == "" })
}

// storageDied loses what was on its way to the storage; what waits in the network comes to the next one.
func (s *state) storageDied() {
	s.dead = true
	for client, c := range s.clients {
		for _, q := range s.underWay(client) {
			q.Lost = !c.held
		}
	}
}

// answered reports whether a client knows the outcome of all that it sent, or has given up on it.
func (s *state) answered(client string) bool {
	return !slices.ContainsFunc(s.sentBy(client), func(q *history.Request) bool { return q.Answer.Kind == "" })
}

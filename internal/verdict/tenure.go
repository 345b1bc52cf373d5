package verdict

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// scope is what the lock service and the storage did about one lock.
type scope struct {
	granted int     // tenures so far
	current *tenure // nil: the lock is free
	comers  int     // how often somebody came to hold it or to queue for it
	token   fence.Token
	// latest is the event by which the latest tenure that came so far read or
	// wrote, and latestTenure its place in the order of tenures.
	latest       int
	latestTenure int
}

type tenure struct {
	order  int // of its grant in the scope, from 1
	scope  *scope
	event  int
	token  fence.Token    // by the lock service's account
	worked map[string]int // client → its last request that was applied
	shared bool           // and that was said
	// sequence is the highest of its requests that were applied.
	sequence int64
}

func (j *judge) scope(name string) *scope {
	s := j.scopes[name]
	if s == nil {
		s = &scope{latest: -1}
		j.scopes[name] = s
	}
	return s
}

func (j *judge) grant(i int, e history.Event) {
	s := j.scope(e.Scope)
	s.comers++
	s.granted++
	s.current = &tenure{order: s.granted, scope: s, event: i, token: e.Token, worked: make(map[string]int)}
	j.tenures[e.Tenure] = s.current
	if told := j.told[e.Tenure]; len(told) > 0 {
		j.disordered = j.disordered || told[0].token <= s.token
		s.token = told[0].token
	}
}

func (j *judge) end(e history.Event) {
	if t := j.tenures[e.Tenure]; t != nil && t.scope.current == t {
		t.scope.current = nil
	}
}

// try is an attempt to take a lock that does not wait.
type try struct {
	free   bool // nobody held it
	comers int
}

func (j *judge) try(e history.Event) {
	s := j.scope(e.Scope)
	j.tries[e.Lane] = try{free: s.current == nil, comers: s.comers}
}

// notGranted judges that a client was told that it did not get a lock.
func (j *judge) notGranted(i int, e history.Event) {
	s := j.scope(e.Scope)
	free := s.current == nil
	if e.Op == history.OpTryLock {
		// Of two attempts that come together both may be told that they came too
		// late. So it counts only where nobody else came.
		t := j.tries[e.Lane]
		free = t.free && t.comers == s.comers
	}
	// With a reason, the client did not ask for the lock at all, or lost its place
	// in the queue with its own lease.
	if free && e.Reason == "" {
		j.violate(history.Blocked, -1, i, "%s did not get the lock %s, which was free", e.Lane, e.Scope)
	}
}

// share finds two clients at work in one tenure.
func (j *judge) share(i int, r *request, t *tenure) {
	for _, client := range slices.Sorted(maps.Keys(t.worked)) {
		if !t.shared && client != r.client && j.wasTold(client, r.tenure) && j.wasTold(r.client, r.tenure) {
			t.shared = true
			j.violate(history.Corrupted, t.worked[client], i, "%s was applied in the tenure that %s works in as well: both were told that the lock is theirs", j.name(i), client)
		}
	}
	t.worked[r.client] = i
}

func (j *judge) wasTold(client, tenure string) bool {
	return slices.ContainsFunc(j.told[tenure], func(t told) bool { return t.client == client })
}

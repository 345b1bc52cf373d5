package redis

import (
	"context"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// recipe is a way to take a lock that people use. It is of one of four kinds: plain and scripted
// are requests of this package's own, library is a lock of package redislock, original is a
// program in another language. A new one is an entry in a table of its kind, with its script in a file, and a name in
// the list below.
type recipe interface {
	service.Recipe
	common() *traits
	// rules are what a client cannot choose that has this recipe.
	rules() []rule
	// peer is service.Service.Peer.
	peer() string
	// dial readies a client for the recipe.
	dial(c *client) (asker, error)
}

// asker asks for locks by a client's recipe. The error is traits.refusal where the lock is another's.
type asker interface {
	try(ctx context.Context, w *asking) (service.Tenure, error)  // asks once
	wait(ctx context.Context, w *asking) (service.Tenure, error) // asks until the lock is the client's, or ctx is done
}

var recipes = append([]recipe{
	&setnxExpire, &multiExpire, &luaExpire, &setNXPX, &fenced, &tokenApart, &listenOnly, &shortRead, &ownLock, &ownFair,
	&redisson, &redissonSpin, &redissonFenced, &redissonFair, &redissonRead, &redissonWrite, &redissonMulti, &spring,
	&redissonReentrant, &ownReentrant,
	&redlock, &redlockNaive, &redlockPatient,
}, programs...)

// traits are what recipes of all kinds have.
type traits struct {
	name, about string
	// gives is what the number is that it gives, as in history.Run.Tokens; "": it gives none.
	gives    string
	mode     fence.Mode // how it takes the lock
	on       nodesOf    // which nodes have to give the lock
	asks     bool       // a client of it can ask whether they have given it
	reenters bool       // a holder can take the lock again
}

// nodesOf says how many of the nodes make a holder.
type nodesOf int

const (
	theOne   nodesOf = iota // there is one
	most                    // of three or more
	everyOne                // of three or more
)

// needs is how many of the nodes have to know who holds a lock that these clients take. check
// has seen that it is one number.
func needs(clients map[string]scenario.Client, nodes int) int {
	for _, c := range clients {
		if service.RecipeOf(recipes, c.Values).common().on == everyOne {
			return nodes
		}
	}
	return nodes/2 + 1
}

func (r *traits) common() *traits { return r }

func (r *traits) Says() (name, about string) { return r.name, r.about }

func (r *traits) peer() string { return "" }

// refusal is the error where the lock is not given.
func (r *traits) refusal() error {
	if r.on == theOne {
		return lock.ErrLocked
	}
	return service.ErrTooFew
}

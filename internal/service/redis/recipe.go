package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// recipe is a way to take a lock that people use. Each has a file of its own, and its
// script beside it.
type recipe struct {
	name, about string
	// shows is what the number that it gives is, as in history.Run.Tokens.
	shows string
	// take makes one attempt, and reports whether the lock is the client's. An error
	// leaves that open.
	take func(ctx context.Context, a *attempt) (taken bool, err error)

	mode     fence.Mode               // how it takes the lock
	free     *redis.Script            // releases it; nil: unlockScript does
	listens  bool                     // who waits asks again when it is told of an unlock, and only then
	library  library                  // in place of take
	path     func(lock string) string // what the library calls a lock; nil: as the story does
	reenters bool                     // a holder can take the lock again
	peer     string                   // the folder below peers/java of the program that takes it; "": this one does
	quorum   bool                     // it needs three nodes or more; others need one
	every    bool                     // and all of them; else most
}

// recipes are all of them.
var recipes = append([]*recipe{
	&setnxExpire, &luaExpire, &setNXPX, &fenced, &tokenApart, &listenOnly, &shortRead, &ownLock, &ownFair,
	&redisson, &redissonSpin, &redissonFenced, &redissonFair, &redissonRead, &redissonWrite, &redissonMulti, &spring,
	&redissonReentrant, &ownReentrant,
	&redlock, &redlockNaive, &redlockPatient,
}, inJava...)

// needs is how many of the nodes have to know who holds a lock that these clients take. check
// has seen that it is one number.
func needs(clients map[string]scenario.Client, nodes int) int {
	for _, c := range clients {
		if service.RecipeOf(recipes, c.Values).every {
			return nodes
		}
	}
	return nodes/2 + 1
}

// attempt is one to take a lock.
type attempt struct {
	redis *redis.Conn     // of the first node
	nodes []*redis.Client // all
	asked time.Time       // when the lease begins, by the client's clock
	lock  string
	owner string
	ttl   time.Duration
	token fence.Token // that was given
	stood bool
}

// stand is to be called when the lock is taken by the first of several requests, before
// the others. Where a recipe has not called it, it is called when the lock is taken.
func (a *attempt) stand(ctx context.Context) {
	if !a.stood {
		a.stood = true
		service.Stand(ctx, a.owner)
	}
}

// number is the answer of a script that gives a token, or nothing where the lock is not
// free.
func (a *attempt) number(answer *redis.Cmd) (taken bool, err error) {
	n, err := answer.Uint64()
	if err == redis.Nil {
		return false, nil
	}
	a.token = fence.Token(n)
	return err == nil, err
}

// Name implements service.Recipe, as the one below does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// noToken is what recipes show that have no number.
const noToken = history.ShowsNone

package redis

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// recipe is a way to take a lock that people use. It is of one of three kinds: requests of this
// package's own (take), a lock of package redislock (open), or a program in Java, by its name. A new
// one is an entry in a table of its kind, with its script in a file, and a name in the list below.
type recipe struct {
	name, about string
	// gives is what the number is that it gives, as in history.Run.Tokens; "": it gives none.
	gives    string
	mode     fence.Mode // how it takes the lock
	on       nodesOf    // which nodes have to give the lock
	reenters bool       // a holder can take the lock again

	take    taking
	listens bool // who waits asks again when it is told of an unlock, and only then
	// unlock is the script that alone knows the lock's keys, and nothing renews its lease. nil: the
	// lock is a key that says its owner, and so the client's settings choose how it renews its lease
	// and releases the lock.
	unlock *redis.Script

	open opening
}

var recipes = append([]*recipe{
	&setnxExpire, &luaExpire, &setNXPX, &fenced, &tokenApart, &listenOnly, &shortRead, &ownLock, &ownFair,
	&redisson, &redissonSpin, &redissonFenced, &redissonFair, &redissonRead, &redissonWrite, &redissonMulti, &spring,
	&redissonReentrant, &ownReentrant,
	&redlock, &redlockNaive, &redlockPatient,
}, programs...)

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
		if service.RecipeOf(recipes, c.Values).on == everyOne {
			return nodes
		}
	}
	return nodes/2 + 1
}

// Name implements service.Recipe, as About does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// peer is the folder below internal/clients/java of the program that takes the lock; "": this
// program does.
func (r *recipe) peer() string {
	program, inJava := strings.CutPrefix(r.name, java.Prefix)
	if !inJava {
		return ""
	}
	folder, _, _ := strings.Cut(program, "-")
	return folder
}

// rules are what a client cannot choose that has this recipe.
func (r *recipe) rules() []rule {
	switch {
	case r.take != nil && r.unlock == nil:
		return []rule{ofOneNode, countless}
	case r.take != nil:
		return []rule{ofOneNode, asItIs, countless}
	case r.open != nil:
		return []rule{inItsWay, unreplicated, countless}
	}
	return []rule{ofOneNode, inItsWay, unreplicated, unaskable, countless}
}

// refusal is the error where the lock is not given.
func (r *recipe) refusal() error {
	if r.on == theOne {
		return lock.ErrLocked
	}
	return service.ErrTooFew
}

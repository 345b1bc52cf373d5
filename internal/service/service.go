// Package service is what the lab knows of lock services: this, and nothing else.
// Each service has a folder below this one, and a line in package all.
package service

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Names are those of services, in their order.
func Names(services []*Service) (names []string) {
	for _, s := range services {
		names = append(names, s.Name)
	}
	return names
}

// Named is the one of a name, nil where there is none.
func Named(services []*Service, name string) *Service {
	for _, s := range services {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Options of a client.
type Options struct {
	Endpoints []string
	// Settings are the values of setting.Client and of of the service's clients.
	Settings setting.Values
}

// Client is one client's way to a lock service: how it takes locks, and how it looks
// whether it holds them. What waits is bounded by its context. Methods are safe for
// concurrent use. fence.OutcomeOf says what is known by an error.
type Client interface {
	// Reach asks the service for something once, and returns when it has answered.
	Reach(ctx context.Context) error
	// Lock waits for a scope's lock; TryLock takes it if it is free, and its error is lock.ErrLocked
	// where it is not. in names a tenure of another client whose session the lock is to be taken in;
	// "" is none. An error that wraps ErrRanOut says that nobody kept the client from the lock.
	Lock(ctx context.Context, scope, in string) (Tenure, error)
	TryLock(ctx context.Context, scope, in string) (Tenure, error)
	// Enqueue asks for a scope's lock, and returns when the client stands in the
	// queue or has the lock. ctx bounds this, and not the wait in the queue.
	Enqueue(ctx context.Context, scope string) (Place, error)
	// Close ends what is open for more than one tenure, and then the connections.
	Close(ctx context.Context) error
}

// TokenReader is a Client that can choose setting.TokenReadAgain.
type TokenReader interface {
	// ReadToken reads the token that the service gave out last for a lock, to whomever.
	ReadToken(ctx context.Context, lock string) (fence.Token, error)
}

// Tenure is one of a Client.
type Tenure interface {
	lock.Tenure
	// Name is what the service's account calls it. It is opaque to all others.
	Name() string
	// Session is what the service's own tools call the session that the tenure ends with, such as a lease.
	Session() string
	// Shown is the number that the client shows to the storage as its token, and
	// what is to be said about that number; "" is nothing.
	Shown() (token fence.Token, remark string)
	// Look looks whether the tenure is current, in a way that is the service's own, by the value of setting.Look, and
	// says what it saw. The error is a NotHeld where it is not; any other means that it cannot be known.
	Look(ctx context.Context, how string) (said string, err error)
}

// Reentrant is a Tenure whose client can take the lock again while it holds it.
type Reentrant interface {
	// Again takes the lock for an inner part of the work. What it returns is of the same tenure and has the same
	// name; its token may be another one. Its Unlock ends the inner part, and not the tenure.
	Again(ctx context.Context) (Tenure, error)
}

// Place is one in the queue of a lock. It has its name already.
type Place interface {
	Tenure
	// Granted is sent to once: nil where the lock was granted, else why it was not.
	Granted() <-chan error
	// Leave leaves the queue, unless the lock was granted before; Granted says which.
	Leave()
}

// Waiter is a Place in a queue of which the service's account does not tell.
type Waiter interface {
	// Waits says what it does while it waits, as in "asks again every 100 ms".
	Waits() string
}

// NotHeld says what was seen where a lock is not held.
type NotHeld string

func (n NotHeld) Error() string { return string(n) }

// MaxToken is the number that setting.TokenMax names.
const MaxToken fence.Token = math.MaxInt64

// Backend takes a client's locks by the library's interface. The grants carry the
// number that the client shows, and so may break the law that tokens grow.
func Backend(c Client) lock.Backend { return backend{c} }

type backend struct{ Client }

func (b backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return showing(b.Client.Lock(ctx, scope, ""))
}

func (b backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return showing(b.Client.TryLock(ctx, scope, ""))
}

// shown is a tenure whose grant carries the number that the client shows.
type shown struct {
	Tenure
	token fence.Token
}

func showing(t Tenure, err error) (lock.Tenure, error) {
	if err != nil {
		return nil, err
	}
	token, _ := t.Shown()
	return &shown{t, token}, nil
}

func (s *shown) Grant() lock.Grant {
	g := s.Tenure.Grant()
	g.Token = s.token
	return g
}

// Store is a Client whose service is the storage, too: what the lock protects lies where the lock is.
// The service's account then tells of each request in the lane of the storage, as history.KindApplied
// or history.KindRefused and by the ID of the request, in the order of the service's own commits.
type Store interface {
	// Under is the data as a client reaches it under a tenure of its own; nil: it has none.
	// within says that the requests are part of the transaction that has the lock: they are
	// done with the tenure's Unlock, or not at all. An error of Do has ended the transaction.
	Under(t Tenure) (of Data, within bool)
}

// Data is what can be asked of a storage.
type Data interface {
	// Do does what ask wants: a read, a write, a delete or a change, all of it or nothing.
	// It adds to ask what a read finds. fence.OutcomeOf says what is known by an error.
	Do(ctx context.Context, ask *history.Event) error
}

// Keeper are the Servers of such a service.
type Keeper interface {
	// Final is what a key holds at the end of a run, if it has a value.
	Final(ctx context.Context, key string) (value string, has bool, err error)
}

// ErrRanOut is why a lock was not taken where the lease of its place in the queue had run out: nobody
// kept the client from the lock. Whether it was granted the lock meanwhile, the client does not know.
var ErrRanOut = fence.Lost.New("the lease ran out before the client was told of a grant")

// ErrTooFew is why a lock of several nodes was not taken. Whether another holds it, or only
// has it on a node, the client does not know.
var ErrTooFew = fmt.Errorf("too few of the nodes gave it the lock: %w", lock.ErrLocked)

// NotTold is why a client that is a lock.Inspector does not tell who holds a lock: its recipe
// knows no way to find out.
func NotTold(recipe Recipe) error {
	name, _ := recipe.Says()
	return fence.Definite.New(fmt.Sprintf("locks of the recipe %s do not tell who holds them", name))
}

// StillWaits is why an unlock fails: the client waits for the lock, as owner.
func StillWaits(scope, owner string) error {
	return fence.Definite.New(fmt.Sprintf("unlock %q: %s waits for it", scope, owner))
}

// NotIn is why a client of a service takes no lock in the tenure of another client: the
// service has no sessions that clients could share.
func NotIn(service, tenure string) error {
	return fence.Definite.New(fmt.Sprintf("%s: a client cannot take a lock in the tenure %q of another", service, tenure))
}

type halfwayKey struct{}

// Halfway returns a context for Client.Lock in which the client stands once it has taken the lock by its first
// request for it, before it asks for more and before it says so: it calls stand with the tenure's name, and goes on
// when stand returns. It is for services of which scenario.Service.Halfway is true.
func Halfway(ctx context.Context, stand func(tenure string)) context.Context {
	return context.WithValue(ctx, halfwayKey{}, stand)
}

// Stand stands, where a context of Halfway wants it.
func Stand(ctx context.Context, tenure string) {
	if stand, wanted := ctx.Value(halfwayKey{}).(func(string)); wanted {
		stand(tenure)
	}
}

type unheldKey struct{}

// Unheld returns a context for requests for a lock in which the client tells of an unlock that is a part of such a
// request, though the client holds nothing: it calls tell with what it does.
func Unheld(ctx context.Context, tell func(scope string, unlock func() error) error) context.Context {
	return context.WithValue(ctx, unheldKey{}, tell)
}

// UnlockUnheld unlocks a lock that the client has not got, and tells of it where a context of Unheld wants it.
func UnlockUnheld(ctx context.Context, scope string, unlock func() error) error {
	if tell, wanted := ctx.Value(unheldKey{}).(func(string, func() error) error); wanted {
		return tell(scope, unlock)
	}
	return unlock()
}

// Recipe is a way to take a lock that people use.
type Recipe interface {
	Says() (name, about string) // what scenarios call it, and what it is
}

// By is the setting of a client that chooses its recipe.
const By = "by"

// ByRecipe is the setting By of a service that has recipes.
func ByRecipe[R Recipe](recipes []R, usual R) setting.Setting {
	var names, abouts []string
	for _, r := range recipes {
		name, about := r.Says()
		names = append(names, name)
		abouts = append(abouts, name+": "+about)
	}
	name, _ := usual.Says()
	return setting.Setting{Name: By, Default: name, Of: names,
		About: "The recipe by which it takes its locks. " + strings.Join(abouts, " ")}
}

// RecipeOf is the recipe that a client has chosen.
func RecipeOf[R Recipe](recipes []R, client setting.Values) R {
	return recipes[slices.IndexFunc(recipes, func(r R) bool {
		name, _ := r.Says()
		return name == client.Text(By)
	})]
}

// ErrOriginal is the error of a client of this program that is to take a lock by a recipe that is a program in another
// language: see Service.Peer.
func ErrOriginal(recipe string) error {
	return fmt.Errorf("%s %s: that is a library in a process of its own, and no recipe of this program", By, recipe)
}

// prefix begins the names of a run's locks in servers that others use as well.
var prefix = regexp.MustCompile(`^/gcsim-[A-Z2-7]{26}\b`)

// PrefixOf is the Prefix of its run's Plan with which a lock's name begins; "": it has none.
func PrefixOf(lock string) string { return prefix.FindString(lock) }

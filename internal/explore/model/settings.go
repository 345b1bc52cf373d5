// Package model is a world of locks in small: a lock service, clients, a storage, the network between them, and
// faults. It is pure: a step makes the next state of a state, at once and always the same one. Each of its steps
// is a step of the scenario language, so that a path of states is a story.
//
// The model has one lock. It has no time, so that a lease can end whenever nobody can renew it, whatever its TTL.
package model

// LeavesOut is what the model does not have.
const LeavesOut = "time, locks that are shared, a second lock, nodes that stand still, and all that a service is asked by others than its clients"

// Most that a world has.
const (
	MaxClients = 4
	MaxKeys    = 4
	MaxNodes   = 5
	maxSent    = 2 // requests of a client that wait in the network
)

// Settings are a world before its story.
type Settings struct {
	Clients  []Client
	Keys     int  // that the clients write
	Together uint // a bit for each key of those that make sense only if one tenure wrote them all
	Changes  bool // a client changes all keys at once
	Writes   bool // a client writes one key

	Queue   bool // the lock service grants in the order in which clients asked, also to one that stands still
	Kept    bool // a place in the queue is kept for its client, also if that is dead, and has no number
	Redraws bool // after a restore the lock service draws the numbers again that it has drawn since the snapshot
	Once    bool // it goes back to a snapshot once: the snapshot is a replica, which takes the place of its server
	Unsent  bool // a replica knows nothing of the lock

	Nodes    int  // that can fail, one by one: a client holds the lock if it has most of them. 0: there are none
	Persists bool // a node that was killed keeps what it knew
	Evicts   Eviction

	Fence  string // the storage's check, in the words of scenario.Fencing
	Memory bool   // the storage forgets all when it is killed
	Bound  bool   // the storage refuses tokens that were not given out yet

	Faults Faults
}

// Changed are the keys that a change is of: those that belong together or, where there are none, all.
func (w *Settings) Changed() uint {
	if w.Together != 0 {
		return w.Together
	}
	return 1<<w.Keys - 1
}

// How the storage checks tokens.
const (
	FenceOn        = "on"
	FenceOff       = "off"
	FenceObserve   = "observe"
	FenceDiffers   = "differs"
	FenceForgetful = "forgetful"
)

// Client is how a client locks, and what it shows to the storage.
type Client struct {
	Token    Token
	Look     Look
	Renews   Renewal
	Releases Releases
	// Session is the client whose session this one uses, and so its tenures; else the client itself.
	Session  int
	Clock    bool // it knows the end of its lease by its own clock, also if it stood still
	High     bool // its unordered tokens are above those of all clients that are not High
	ByKey    bool // its tokens are compared for each key apart
	Plain    bool // its reads show no token
	Numbered bool // its requests carry sequence numbers
	Singly   bool // its change of all keys is a request for each key
	Halfway  bool // it takes the lock in two steps, and can stand between them
	Unleased bool // its lock has no lease before the second step of taking it
	Reads    bool // it reads
	Deletes  bool // it deletes
	Retries  bool // it does again what had no answer
	Reenters bool // it can take the lock again while it holds it, once
	Raises   bool // and then shows a new number, until it unlocks once
	Cutoff   bool // it hears of a loss from the lock service alone, which it must reach
	Ahead    bool // by its clock each lease is over
	Prolongs bool // while it waits, the holder's lease does not end
	Listens  bool // while it waits, it hears of an unlock alone
	Lingers  bool // where it gives up, its request stays, and takes the lock for nobody
	Naive    bool // it takes the lock for free until somebody has released it for the first time
	Skips    bool // it takes the lock whoever has it
	Clears   bool // where it asks for the lock, all others lose their places in the queue
	Finally  bool // it unlocks also where it did not get the lock
}

// Token is which number a client shows.
type Token uint8

const (
	TokenAsking    Token = iota // drawn when it asks for the lock, as etcd's create revision
	TokenGrant                  // drawn with the grant
	TokenLater                  // the last number that was given out when it was told of the grant
	TokenApart                  // drawn by the second step of taking the lock
	TokenAgain                  // the last number that was given out, read before each request
	TokenUnordered              // in the order of grants only among clients of one kind
	TokenMax                    // the highest number there is; its client never asks for the lock
	TokenNone
)

// Look is how a client finds out, before a request, whether it holds the lock.
type Look uint8

const (
	LookNothing Look = iota
	LookBegin        // as LookSession, only where it stands before the request afterwards
	LookSession      // it asks its own session, which may not know yet if the client stood still
	LookService      // it asks the lock service whether it holds the lock
	LookKey          // it asks the lock service whether it holds the lock or stands in the queue
)

// Renewal is what keeps a lease alive.
type Renewal uint8

const (
	RenewsAlways Renewal = iota // while the client runs and reaches the lock service
	RenewsNever
	Retakes // as RenewsAlways, and who went on takes the lock back from whoever has it
	Lasts   // there is no lease: the lock is the client's connection's, until the client dies
	Stays   // nor a connection: the lock is held until it is released
)

// Eviction is what a node forgets whose memory is full.
type Eviction uint8

const (
	EvictsNothing Eviction = iota // and then it grants nothing, which the model does not have
	EvictsLeases
	EvictsAll // also the last number that was drawn
)

// Releases is which tenure an unlock ends.
type Releases uint8

const (
	ReleasesOwn     Releases = iota // that which the client was granted
	ReleasesSession                 // whichever its session has
	ReleasesAny                     // whoever's it is
)

// Faults are the faults that may come.
type Faults uint16

const (
	Pause Faults = 1 << iota
	Kill
	Cut    // between a client and the lock service
	Deafen // the lock service does what the client asks, and the client hears no answer
	Delay  // between a client and the storage
	Revoke // of a lease, from outside
	KillStorage
	Restore   // of the lock service, from a snapshot
	Terminate // of a client, which releases its lock before it ends
	KillNode
	Clock // of a node, which jumps, so that each lease is over
	Evict // of the lock, by a node whose memory is full
)

package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// recipe is a way to take a lock that people use: by a node that is ephemeral, so that it
// ends with its client's session, and sequential, so that it has its place in a queue.
type recipe struct {
	name, about string

	before    string // what the names of its nodes have before the number
	mode      fence.Mode
	protected bool // a node whose creation was not answered is looked for, and found again
	herd      bool // all who wait watch the first node
	library   bool // it is the Lock of package zk
	own       bool // it is package zklock

	peer string // service.Service.Peer
}

var recipes = []*recipe{&sequential, &unprotected, &herd, &library, &curatorRead, &curatorWrite, &ownLock, &ownRead, &curator, &peerRead, &peerWrite, &springRegistry, &kazoo}

var (
	sequential = recipe{name: "sequential", before: beforeMutex, protected: true,
		about: "The recipe of ZooKeeper's documentation as in Curator's InterProcessMutex: each client waits for the node before its own. If the answer to the creation was lost, the client finds its node by a GUID in the name."}
	unprotected = recipe{name: "unprotected", before: beforeMutex, about: "The same without looking for the GUID."}
	herd        = recipe{name: "herd", before: beforeMutex, protected: true, herd: true, about: "As sequential, but all waiters watch the first node."}
	library     = recipe{name: "go-zookeeper", before: beforeMutex, library: true,
		about: "The Lock of go-zookeeper. It leaves its node behind after an error: a client that leaves the queue deletes its node itself."}
	curatorRead = recipe{name: "curator-read", before: beforeReader, mode: fence.Shared, protected: true,
		about: "The reader's lock as in Curator's InterProcessReadWriteLock."}
	curatorWrite = recipe{name: "curator-write", before: beforeWriter, protected: true, about: "The writer's."}
	ownLock      = recipe{name: "zklock", before: beforeWriter, own: true,
		about: "Package zklock, for writers. Its nodes are as curator-write's, in a session of their own."}
	ownRead = recipe{name: "zklock-read", before: beforeReader, mode: fence.Shared, own: true,
		about: "The same for readers, with the nodes of curator-read."}

	// Programs in Java, with Curator itself.
	curator = recipe{name: java.Prefix + "curator", peer: java.Prefix + "curator",
		about: "Curator itself, 5.9.0: a client in Java, with an InterProcessMutex. Its release says nothing of a lost lock."}
	peerRead = recipe{name: java.Prefix + "curator-read", mode: fence.Shared, peer: java.Prefix + "curator",
		about: "Likewise, the reader's lock of an InterProcessReadWriteLock."}
	peerWrite = recipe{name: java.Prefix + "curator-write", peer: java.Prefix + "curator", about: "Likewise, the writer's."}

	springRegistry = recipe{name: java.Prefix + "spring-zookeeper", peer: java.Prefix + "curator",
		about: "The ZookeeperLockRegistry of Spring Integration itself, 7.0.5, whose locks are Curator's InterProcessMutex: a client in Java. A trylock waits for up to a second. Its unlock says nothing of a lost lock. It has no look: acquired."}

	kazoo = recipe{name: python.Prefix + "kazoo", peer: python.Prefix + "kazoo",
		about: "The Lock of kazoo itself, 2.11.0: a client in Python. Its release says nothing of a lost lock."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

var worldSettings = []setting.Setting{service.SettingMembers,
	{Name: settingContainers, Kind: setting.Time, Default: "1m", Pattern: `^([1-9][0-9]*(ms|s|m))$`,
		About: "How often the leader looks for containers that are empty, as a lock's own node is when nobody holds the lock or waits for it, and removes them (znode.container.checkIntervalMs)."},
	{Name: settingObserver, Kind: setting.Flag, Default: "false", About: "Whether there is an observer besides: a member without a vote, which hears of what the others have done."},
}

const (
	settingContainers = "containers"
	settingObserver   = "observer"
	soon              = time.Second // a story can wait for it
)

// The settings of its clients.
const (
	tokenCzxid    = "czxid"
	tokenSequence = "sequence"

	lookAcquired = "acquired"
	lookFirst    = "first"
	lookSynced   = "synced"

	settingSuspended = "suspended"
	suspendedObeyed  = "obeyed"
	suspendedIgnored = "ignored"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &sequential),
	{Name: setting.Token, Default: tokenCzxid, Of: []string{tokenCzxid, tokenSequence},
		About: "Its token for the storage. czxid: the number of the transaction that created its node. sequence: the number in the name of its node, and one more, as 0 is no token."},
	{Name: settingSuspended, Default: suspendedObeyed, Of: []string{suspendedObeyed, suspendedIgnored},
		About: "What it makes of a broken connection (Curator: SUSPENDED). obeyed: its tenures are over, and it deletes their nodes when it is connected again. ignored: its tenures go on until ZooKeeper says that the session has expired, or the connection was gone for the length of a session (Curator's default: LOST). With zklock, obeyed is its option Suspended; without it a tenure is over after a quarter of a session."},
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, service.MemberLeader, service.MemberFollower, service.MemberObserver},
		About: "The member of ZooKeeper that it talks to. any: it knows all that vote. leader, follower: one that leads, or does not lead, when the story begins; a follower needs three members or more. observer: the one without a vote."},
	setting.LookOf("session: at what it was told of its connection and its session. acquired: at its own process, whether it has taken the lock and not released it, as Curator's isAcquiredInThisProcess. first: it asks ZooKeeper whether its node is the first. synced: the same, after a sync, by which its member has all that the leader had done.", lookAcquired, lookFirst, lookSynced),
	java.Collector, java.Ahead,
}

// libraryLock is the Lock of package zk for one attempt. It knows no contexts: who does not
// want to wait any more leaves it to itself, and it gives back what it gets.
type libraryLock struct {
	of     *asking
	lock   *zk.Lock
	locked chan error // gets the end of its wait
	held   bool       // it has the lock, and can unlock it

	leaving sync.Once
}

// create begins to wait for the lock, and returns the path of the node. The library does not
// tell it: it is the one that holds the GUID.
func (l *libraryLock) create(ctx context.Context) (node string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		err := l.lock.LockWithData([]byte(l.of.id))
		if err != nil {
			cancel(err)
		}
		l.locked <- err
	}()
	node, _, err = l.of.awaitNode(ctx, func(_ string, data []byte, _ *zk.Stat) bool { return string(data) == l.of.id })
	return node, err
}

// letGo has what is granted later be given back at once.
func (l *libraryLock) letGo() {
	l.leaving.Do(func() {
		go func() {
			if <-l.locked == nil {
				_ = l.lock.Unlock()
			}
		}()
	})
}

// wait waits for the lock. Who leaves deletes the node: the library still waits, and has to
// be waited for.
func (l *libraryLock) wait(ctx context.Context) error {
	select {
	case err := <-l.locked:
		l.held = err == nil
		return err
	case <-ctx.Done():
		l.letGo()
		return ctx.Err()
	}
}

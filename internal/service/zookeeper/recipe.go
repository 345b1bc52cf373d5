package zookeeper

import (
	"github.com/fencelab/fencelab/internal/clients/java"
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

	peer string // the folder below internal/clients/java of the program that takes it; "": this one does
}

// recipes are all of them.
var recipes = []*recipe{&sequential, &unprotected, &herd, &library, &curatorRead, &curatorWrite, &ownLock, &ownRead, &curator, &peerRead, &peerWrite}

var (
	sequential = recipe{name: "sequential", before: beforeMutex, protected: true,
		about: "The recipe of ZooKeeper's documentation as in Curator's InterProcessMutex: each client waits for the node before its own. The name of a node has a GUID. If the answer to the creation was lost, the client finds its node by the GUID, and if the client does not want the node any more, it deletes the node."}
	unprotected = recipe{name: "unprotected", before: beforeMutex, about: "The same without looking for the GUID."}
	herd        = recipe{name: "herd", before: beforeMutex, protected: true, herd: true, about: "As sequential, but all who wait watch the first node."}
	library     = recipe{name: "go-zookeeper", before: beforeMutex, library: true,
		about: "The Lock of go-zookeeper, which knows no end of a wait, and leaves its node behind after an error: a client that leaves the queue deletes its node itself."}
	curatorRead = recipe{name: "curator-read", before: beforeReader, mode: fence.Shared, protected: true,
		about: "The reader's lock as in Curator's InterProcessReadWriteLock."}
	curatorWrite = recipe{name: "curator-write", before: beforeWriter, protected: true, about: "The writer's."}
	ownLock      = recipe{name: "zklock", before: beforeWriter, own: true,
		about: "Package zklock, for writers. Its nodes are those of curator-write, in a session of their own."}
	ownRead = recipe{name: "zklock-read", before: beforeReader, mode: fence.Shared, own: true,
		about: "The same for readers, with the nodes of curator-read."}

	// Programs in Java, with Curator itself.
	curator = recipe{name: java.Prefix + "curator", peer: "curator",
		about: "Curator itself, 5.9.0: a client in Java, with an InterProcessMutex. Its release says nothing of a lock that was lost."}
	peerRead = recipe{name: java.Prefix + "curator-read", peer: "curator",
		about: "Likewise, the reader's lock of an InterProcessReadWriteLock."}
	peerWrite = recipe{name: java.Prefix + "curator-write", peer: "curator", about: "Likewise, the writer's."}
)

func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

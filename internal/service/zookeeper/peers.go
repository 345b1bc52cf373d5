package zookeeper

import (
	"github.com/fencelab/fencelab/internal/peers"
)

// Programs in Java, with Curator itself.
var (
	curator = recipe{
		name: peers.Prefix + "curator", peer: "curator",
		about: "Curator itself, 5.9.0: a client in Java, with an InterProcessMutex. Its release says nothing of a lock that was lost.",
	}
	peerRead = recipe{
		name: peers.Prefix + "curator-read", peer: "curator",
		about: "Likewise, the reader's lock of an InterProcessReadWriteLock.",
	}
	peerWrite = recipe{
		name: peers.Prefix + "curator-write", peer: "curator",
		about: "Likewise, the writer's.",
	}
)

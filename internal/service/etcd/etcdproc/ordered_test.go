package etcdproc

import (
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// TestOrdered looks for two ports whose members have the first bytes of their lease IDs in common.
func TestOrdered(t *testing.T) {
	at := func(port int) *Member {
		return &Member{config: etcdserver.Config{PeerAddr: fmt.Sprint("127.0.0.1:", port)}}
	}
	seen := make(map[uint64]int) // the port of each
	for port := 1; port < 1<<16; port++ {
		twin, common := seen[at(port).leaseIDs()]
		if !common {
			seen[at(port).leaseIDs()] = port
			continue
		}
		if ordered([]*Member{at(port), at(twin)}) {
			t.Errorf("ports %d and %d: ordered, and the lease IDs of both begin with %x", twin, port, at(port).leaseIDs())
		}
		if !ordered([]*Member{at(port), at(port - 1)}) {
			t.Errorf("ports %d and %d: not ordered", port-1, port)
		}
		return
	}
	t.Fatal("no two ports have them in common")
}

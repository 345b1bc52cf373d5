package lab

import (
	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/scenario"
)

// links are the networks of one client.
type links struct {
	etcd    []*network.Link // one for each member that it knows
	storage *network.Link   // for what it sends and does not wait for
}

// to are those to a service.
func (n *links) to(service string) []*network.Link {
	switch {
	case service == scenario.TargetEtcd:
		return n.etcd
	case n.storage != nil:
		return []*network.Link{n.storage}
	}
	return nil
}

func (n *links) close() {
	for _, l := range n.etcd {
		l.Close()
	}
	if n.storage != nil {
		n.storage.Close()
	}
}

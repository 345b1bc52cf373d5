package lab

import "github.com/fencelab/fencelab/internal/platform/network"

// links are the networks of one client.
type links struct {
	service []*network.Link // to the lock service: one for each address that it knows
	storage *network.Link   // for what it sends and does not wait for

	endpoints []string // where the client finds the lock service
	sends     string   // URL by which it finds the storage for what it sends
}

func (n *links) close() {
	for _, l := range n.service {
		l.Close()
	}
	if n.storage != nil {
		n.storage.Close()
	}
}

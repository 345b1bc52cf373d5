package esproc

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/peers"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// checks have the nodes of a cluster find out sooner that they have lost one another: it takes half a minute by default.
var checks = []string{
	"cluster.fault_detection.follower_check.interval=200ms", "cluster.fault_detection.follower_check.timeout=1s",
	"cluster.fault_detection.leader_check.interval=200ms", "cluster.fault_detection.leader_check.timeout=1s",
	"cluster.publish.timeout=2s",
}

// join has the nodes, which serve each other at these addresses, find each other by a network between them.
func (c *Cluster) join(g *proc.Group, others []string) error {
	if len(c.Nodes) == 1 {
		c.Nodes[0].Args = append(c.Nodes[0].Args, "discovery.type=single-node")
		return nil
	}
	network, found, err := peers.New(g, c.Nodes, others)
	if err != nil {
		return err
	}
	c.peers = network
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	for i, n := range c.Nodes {
		n.Args = append(append(n.Args, checks...), fmt.Sprint("transport.publish_port=", netip.MustParseAddrPort(found[i]).Port()),
			"discovery.seed_hosts="+strings.Join(found, ","), "cluster.initial_cluster_manager_nodes="+strings.Join(names, ","))
	}
	return nil
}

// Isolate has nothing pass between a node and the others, either way. Clients reach it as before. There must be several.
func (c *Cluster) Isolate(n *Node) { c.peers.Isolate(n) }

// Package esproc runs OpenSearch, the free Elasticsearch, of one or several nodes, each of which is a process of Java.
package esproc

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/peers"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a node.
const Arg = "elasticsearch-node"

func Command() *cobra.Command { return proc.Command(Arg, "Be a node of OpenSearch", "elasticsearch") }

var (
	//go:embed Node.java
	program []byte
	//go:embed log4j2.properties
	logging []byte
)

// Cluster is nodes that have elected one of them to manage it.
type Cluster struct {
	Nodes []*Node

	peers *peers.Network[*Node] // nil where there is one node
}

// Node is one of a Cluster: elasticsearch1 and so on.
type Node struct{ proc.Node }

// Start starts nodes in g, whose program must have Command, and returns when all serve. Found must have found what they
// need. They end with the group. Their logs, on standard error, have errors alone.
func Start(ctx context.Context, g *proc.Group, nodes int) (*Cluster, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("elasticsearch is missing: %s", bring)
	}
	free, err := ports.Free(2 * nodes)
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	c, clients, others := new(Cluster), free[:nodes], free[nodes:]
	for i := range nodes {
		n, err := newNode(g, i+1, clients[i], others[i])
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	if err := c.join(g, others); err != nil {
		return nil, err
	}
	return c, proc.StartAll(ctx, c.Nodes, func(int) error { return nil })
}

// Endpoints are the addresses for clients of all nodes.
func (c *Cluster) Endpoints() []string { return proc.Endpoints(c.Nodes) }

// newNode makes a node that serves clients and other nodes at these addresses, and does not start it.
func newNode(g *proc.Group, number int, clients, others string) (*Node, error) {
	name := fmt.Sprint("elasticsearch", number)
	dir, err := os.MkdirTemp(g.Dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	config := filepath.Join(dir, "node_1", "config") // where the first node of a program looks for it
	source := filepath.Join(dir, "Node.java")
	err = errors.Join(
		os.MkdirAll(config, 0o700),
		os.WriteFile(filepath.Join(config, "log4j2.properties"), logging, 0o600),
		os.WriteFile(source, program, 0o600))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	of, ofOthers := netip.MustParseAddrPort(clients), netip.MustParseAddrPort(others)
	n := &Node{Node: proc.Node{Group: g, Name: name, Addr: clients}}
	n.Serves = n.serves
	n.Args = slices.Concat([]string{Arg, maven.Java(), "-Djava.net.preferIPv4Stack=true"}, maven.ServerOptions("192m", dir, "node"),
		[]string{"-cp", filepath.Join(Libraries.Found(), "*"), source, dir},
		[]string{"node.name=" + name, "network.host=" + of.Addr().String(), fmt.Sprint("http.port=", of.Port()), fmt.Sprint("transport.port=", ofOthers.Port())})
	return n, nil
}

// serves asks once whether the node serves all documents that it has.
func (n *Node) serves(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Addr+"/_cluster/health?wait_for_status=yellow&timeout=1s", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", n.Addr, resp.Status)
	}
	return nil
}

//go:embed pom.xml
var pom []byte

// Libraries are OpenSearch and what it needs.
var Libraries = maven.Libraries{Name: "opensearch", POM: pom}

const GetJars = "gcsim services get elasticsearch"

// Found says where OpenSearch is, "" where a part of what it needs is missing, and then bring
// is the command that brings that part.
func Found() (where, bring string) { return Libraries.FoundToRun(GetJars) }

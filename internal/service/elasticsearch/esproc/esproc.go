// Package esproc runs a node of OpenSearch, the free Elasticsearch, as a process of Java.
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

// Node is one, the only one of its cluster.
type Node struct{ proc.Node }

// Start starts a node in g, whose program must have Command, and returns when it serves. Found must
// have found what it needs. It ends with the group. Its log, on standard error, has errors alone.
func Start(ctx context.Context, g *proc.Group) (*Node, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("elasticsearch is missing: %s", bring)
	}
	free, err := ports.Free(2)
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	dir, err := os.MkdirTemp(g.Dir, "elasticsearch")
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	config := filepath.Join(dir, "node_1", "config") // where the first node looks for it
	source := filepath.Join(dir, "Node.java")
	err = errors.Join(
		os.MkdirAll(config, 0o700),
		os.WriteFile(filepath.Join(config, "log4j2.properties"), logging, 0o600),
		os.WriteFile(source, program, 0o600))
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	clients, peers := netip.MustParseAddrPort(free[0]), netip.MustParseAddrPort(free[1])
	n := &Node{Node: proc.Node{Group: g, Name: "elasticsearch1", Addr: free[0]}}
	n.Serves = n.serves
	n.Args = slices.Concat([]string{Arg, maven.Java()}, maven.ServerOptions("192m", dir, "node"),
		[]string{"-cp", filepath.Join(Libraries.Found(), "*"), source, dir, clients.Addr().String(), fmt.Sprint(clients.Port()), fmt.Sprint(peers.Port())})
	return n, n.Restart(ctx)
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

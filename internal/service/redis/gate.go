package redis

import (
	"io"
	"net"
	"sync"

	"github.com/fencelab/fencelab/internal/platform/network"
)

// gate is where clients reach one of several nodes. What the node answers goes through when the
// account has all that the node did before. So what a client does next comes later in the account,
// also where the client does it on another node. The nodes' streams alone do not say that: in the
// order in which they are read, a short tenure can be over on one node before it begins on the next.
type gate struct {
	node    *node
	door    *network.Listener
	running sync.WaitGroup
}

func newGate(n *node) (g *gate, err error) {
	g = &gate{node: n}
	g.door, err = network.Listen(func(client net.Conn) { g.running.Go(func() { g.connect(client) }) })
	return g, err
}

// connect connects a client with the node, until one of the two hangs up.
func (g *gate) connect(client net.Conn) {
	defer client.Close()
	node, err := net.Dial("tcp", g.node.options.Addr)
	if err != nil {
		return
	}
	defer node.Close()
	g.running.Go(func() {
		_, _ = io.Copy(node, client)
		_ = node.(*net.TCPConn).CloseWrite() // the node still does what was sent before
	})
	answer := make([]byte, 32<<10)
	for {
		n, err := node.Read(answer)
		if err != nil {
			return
		}
		g.node.awaitAccount()
		if _, err := client.Write(answer[:n]); err != nil {
			return
		}
	}
}

// close returns when all connections have ended, as they do with the processes.
func (g *gate) close() {
	g.door.Close()
	g.running.Wait()
}

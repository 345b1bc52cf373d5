package redis

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// gated is a node with a gate, the marks that it is given, and a client's connection
// through the gate. The node refuses marks where it is full.
func gated(t *testing.T, full bool) (n *node, marks <-chan string, client net.Conn) {
	t.Helper()
	found := make(chan string, 1)
	fake := miniredis.RunT(t)
	fake.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		if command != "SET" {
			return false
		}
		found <- args[1]
		if full {
			peer.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
		}
		return full
	})
	n = &node{options: &redis.Options{Addr: fake.Addr(), MaxRetries: -1}}
	n.watch = newWatch(nil, redis.NewClient(n.options), nil)
	g, err := newGate(n)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = net.Dial("tcp", g.door.Addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		n.watch.client.Close()
		g.close()
	})
	return n, found, client
}

// ping asks, and returns the answer when it comes.
func ping(t *testing.T, client net.Conn) <-chan string {
	t.Helper()
	if _, err := io.WriteString(client, "*1\r\n$4\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(client).ReadString('\n')
		answers <- line
	}()
	return answers
}

// await returns what a channel has, in time.
func await[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(2 * time.Minute):
		t.Fatalf("no %s", what)
	}
	return v
}

// TestGate: an answer waits for the account.
func TestGate(t *testing.T) {
	n, marks, client := gated(t, false)
	answers := ping(t, client)
	mark := await(t, "mark", marks)
	n.watch.pass([][]string{{"SET", "another", mark}, {"SET", marker, "another"}})
	select {
	case <-answers:
		t.Fatal("the client is answered before the account has what was before")
	default:
	}
	n.watch.pass([][]string{{"SET", marker, mark}})
	if got := await(t, "answer", answers); got != "+PONG\r\n" {
		t.Errorf("the client is answered %q", got)
	}
}

// TestGateWaitsForNobody: an answer goes through where no account comes any more.
func TestGateWaitsForNobody(t *testing.T) {
	t.Run("the stream has ended", func(t *testing.T) {
		n, marks, client := gated(t, false)
		answers := ping(t, client)
		await(t, "mark", marks)
		close(n.watch.ended)
		await(t, "answer", answers)
	})
	t.Run("the node takes nothing more", func(t *testing.T) {
		_, _, client := gated(t, true)
		await(t, "answer", ping(t, client))
	})
}

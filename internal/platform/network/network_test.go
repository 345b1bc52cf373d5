package network_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
)

// echo is a server that sends back each line, and tells of it.
func echo(t *testing.T) (addr string, got chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	got = make(chan string, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					got <- line
					io.WriteString(c, line)
				}
			}()
		}
	}()
	return ln.Addr().String(), got
}

func open(t *testing.T, to string) *network.Link {
	t.Helper()
	l, err := network.New(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func dial(t *testing.T, l interface{ Addr() string }) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

func say(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, got chan string, want string) {
	t.Helper()
	select {
	case line := <-got:
		if line != want {
			t.Fatalf("the server got %q, want %q", line, want)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("the server did not get %q", want)
	}
}

// TestLinkDeliversLate: what waited arrives also where its sender has given up
// and is gone. The scenarios delayed-request and late-retry are about that.
func TestLinkDeliversLate(t *testing.T) {
	addr, got := echo(t)
	l := open(t, addr)
	l.Tx.Shut()
	c := dial(t, l)
	say(t, c, "late\n")
	c.Close()
	other, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	say(t, other, "overtakes\n")
	hear(t, got, "overtakes\n")
	l.Tx.Open()
	hear(t, got, "late\n")
}

// TestLinkKeepsAnswers: while a client is deaf its request arrives, and after a
// cut it knows that its connection broke. A new one works at the same address.
func TestLinkKeepsAnswers(t *testing.T) {
	addr, got := echo(t)
	l := open(t, addr)
	l.Rx.Shut()
	c := dial(t, l)
	say(t, c, "hello\n")
	hear(t, got, "hello\n")
	l.Cut()
	if line, err := bufio.NewReader(c).ReadString('\n'); err == nil {
		t.Errorf("it got the answer %q", line)
	} else if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
		t.Error("it did not notice that its connection broke")
	}
	l.Rx.Open()
	again := dial(t, l)
	say(t, again, "again\n")
	hear(t, got, "again\n")
	if line, err := bufio.NewReader(again).ReadString('\n'); line != "again\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestLinkToOneThatGreets: the client says nothing before the service does.
func TestLinkToOneThatGreets(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			defer c.Close()
			io.WriteString(c, "hello\n")
		}
	}()
	l, err := network.NewGreeted(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := dial(t, l)
	if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
		t.Errorf("got %q, %v, want the greeting", line, err)
	}
}

// TestLinkIsLocal: nobody but this machine reaches a link.
func TestLinkIsLocal(t *testing.T) {
	addr, _ := echo(t)
	host, _, err := net.SplitHostPort(open(t, addr).Addr())
	if ip := net.ParseIP(host); err != nil || !ip.IsLoopback() {
		t.Errorf("the link listens on %s, want loopback only", host)
	}
}

// TestLinkDeliversInOrder: what waits goes on one connection after the other, in the
// order in which they began.
func TestLinkDeliversInOrder(t *testing.T) {
	addr, got := echo(t)
	l := open(t, addr)
	l.Tx.Shut()
	lines := []string{"one\n", "two\n", "three\n"}
	var conns []net.Conn
	for range lines {
		conns = append(conns, dial(t, l))
	}
	for i, c := range slices.Backward(conns) {
		say(t, c, lines[i])
	}
	for l.Held() < len(lines) {
		<-l.Holds()
	}
	for i, line := range lines {
		l.Pass()
		hear(t, got, line)
		if n := l.Held(); n != len(lines)-1-i {
			t.Errorf("%d wait after %d went on", n, i+1)
		}
	}
	l.Pass()
	say(t, conns[0], "more\n") // by one that may go on
	hear(t, got, "more\n")
	say(t, dial(t, l), "new\n")
	<-l.Holds()
	select {
	case line := <-got:
		t.Errorf("%q arrives, and the way is shut", line)
	default:
	}
	l.Tx.Open()
	hear(t, got, "new\n")
}

// TestLinkToAnotherService: what has waited since its connection began comes to
// the service of the time when it goes on; where there is none the connection breaks.
func TestLinkToAnotherService(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, ln.Addr().String())
	l.Tx.Shut()
	first, second := dial(t, l), dial(t, l)
	say(t, first, "to nobody\n")
	say(t, second, "to the next\n")
	for l.Held() < 2 {
		<-l.Holds()
	}
	ln.Close()
	l.Pass()
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a connection that broke", err)
	}
	next, err := net.Listen("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	l.Tx.Open()
	c, err := next.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if line, err := bufio.NewReader(c).ReadString('\n'); line != "to the next\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestLinksShareAnAddress: connections to one address lead to the service by several
// links, each of which is shut for itself.
func TestLinksShareAnAddress(t *testing.T) {
	addr, got := echo(t)
	first, second := network.NewTaking(addr), network.NewTaking(addr)
	next := []*network.Link{first, second}
	ln, err := network.Listen(func(c net.Conn) {
		next[0].Take(c)
		next = next[1:]
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close(); first.Close(); second.Close() })
	first.Tx.Shut()
	for _, line := range []string{"by the first\n", "by the second\n"} {
		c, err := net.Dial("tcp", ln.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		say(t, c, line)
	}
	hear(t, got, "by the second\n")
	first.Tx.Open()
	hear(t, got, "by the first\n")
}

// TestAfterHead: the headers of a request go on while its body waits; a request without a body
// waits as it is, and an open link passes on all.
func TestAfterHead(t *testing.T) {
	addr, got := echo(t)
	l, err := network.NewAfterHead(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	first, second := dial(t, l), dial(t, l)
	const head, bare = "PUT /k HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "DELETE /k HTTP/1.1\r\n\r\n"
	say(t, first, head+"body\n")
	hear(t, got, "PUT /k HTTP/1.1\r\n")
	hear(t, got, "Content-Length: 5\r\n")
	hear(t, got, "\r\n")
	hear(t, got, "body\n")
	l.Tx.Shut()
	say(t, first, head+"late\n")
	hear(t, got, "PUT /k HTTP/1.1\r\n")
	hear(t, got, "Content-Length: 5\r\n")
	hear(t, got, "\r\n")
	say(t, second, bare)
	for l.Held() < 2 {
		<-l.Holds()
	}
	l.Pass()
	hear(t, got, "late\n")
	l.Pass()
	hear(t, got, "DELETE /k HTTP/1.1\r\n")
	hear(t, got, "\r\n")
	select {
	case line := <-got:
		t.Errorf("%q came as well", line)
	default:
	}
}

// TestHangsUp: that a client has hung up comes to the service after what it sent, waits as that does, and comes never by a
// silent link.
func TestHangsUp(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	for name, make := range map[string]func(string) (*network.Link, error){"": network.New, "silent": network.NewSilent} {
		l, err := make(ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		client := dial(t, l)
		say(t, client, "first\n")
		server, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		read := bufio.NewReader(server)
		if line, err := read.ReadString('\n'); line != "first\n" {
			t.Fatalf("%s: the server reads %q, %v", name, line, err)
		}
		l.Tx.Shut()
		say(t, client, "second\n")
		client.Close()
		within := func(d time.Duration) (string, error) {
			if err := server.SetReadDeadline(time.Now().Add(d)); err != nil {
				t.Fatal(err)
			}
			return read.ReadString('\n')
		}
		if line, err := within(20 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: while the way is shut the server reads %q, %v", name, line, err)
		}
		l.Tx.Open()
		if line, err := within(2 * time.Minute); line != "second\n" {
			t.Errorf("%s: the server reads %q, %v", name, line, err)
		}
		if name == "silent" {
			if _, err := within(20 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("by a silent link the server hears %v", err)
			}
		} else if _, err := within(2 * time.Minute); err != io.EOF {
			t.Errorf("the server hears %v, want that its client has hung up", err)
		}
	}
}

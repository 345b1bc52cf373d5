package network_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/network"
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

func dial(t *testing.T, l *network.Link) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
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
	case <-time.After(10 * time.Second):
		t.Fatalf("the server did not get %q", want)
	}
}

// TestLinkDeliversLate: what waited arrives also where its sender has given up
// and is gone. The scenarios delayed-request and late-retry are about that.
func TestLinkDeliversLate(t *testing.T) {
	addr, got := echo(t)
	l := open(t, addr)
	l.PauseTx()
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
	l.UnpauseTx()
	hear(t, got, "late\n")
}

// TestLinkKeepsAnswers: while a client is deaf its request arrives, and after a
// cut it knows that its connection broke. A new one works at the same address.
func TestLinkKeepsAnswers(t *testing.T) {
	addr, got := echo(t)
	l := open(t, addr)
	l.PauseRx()
	c := dial(t, l)
	say(t, c, "hello\n")
	hear(t, got, "hello\n")
	l.Cut()
	if line, err := bufio.NewReader(c).ReadString('\n'); err == nil {
		t.Errorf("it got the answer %q", line)
	} else if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
		t.Error("it did not notice that its connection broke")
	}
	if err := l.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := dial(t, l)
	say(t, again, "again\n")
	hear(t, got, "again\n")
	if line, err := bufio.NewReader(again).ReadString('\n'); line != "again\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

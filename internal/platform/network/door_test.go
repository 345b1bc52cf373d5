package network_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
)

// TestDoor: it leads to one server, and after a turn to another one, whose clients wait until it is opened.
func TestDoor(t *testing.T) {
	first, atFirst := echo(t)
	second, atSecond := echo(t)
	d, err := network.NewDoor(first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	before := dial(t, d)
	say(t, before, "before\n")
	hear(t, atFirst, "before\n")

	open := d.Turn(second)
	if _, err := io.Copy(io.Discard, before); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection to the first server ends with %v, want a failure", err)
	}
	after := dial(t, d)
	say(t, after, "after\n")
	select {
	case line := <-atSecond:
		t.Errorf("%q has come before the door was opened", line)
	case <-time.After(20 * time.Millisecond):
	}
	open()
	hear(t, atSecond, "after\n")
}

// TestDoorHangsUp: the server is told that its client has hung up, and the client that nobody serves.
func TestDoorHangsUp(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, err := network.NewDoor(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	client := dial(t, d)
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	if _, err := io.Copy(io.Discard, server); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server reads %v, want that its client has hung up", err)
	}
	ln.Close()
	late, err := net.Dial("tcp", d.Addr())
	if err == nil {
		defer late.Close()
		_, err = io.Copy(io.Discard, late)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("where nobody serves the client gets %v, want a failure", err)
	}
}

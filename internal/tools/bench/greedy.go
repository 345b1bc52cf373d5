package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

const (
	greedyConns  = 64   // connections of greedy clients, where the row tells no other number
	greedyFields = 2900 // how many short fields the header of a request has, in 28 KiB
	greedyDepth  = 64   // how many requests a connection sends before it reads the answers
)

// greed is what greedy clients do, and what an honest client does beside them.
type greed struct {
	name   string
	crowd  func(addr string, begun func()) error // until it is killed. It calls begun when it is connected
	honest exchange
	keys   int     // that the storage has
	turns  int     // how much longer than others' the turns are
	want   float64 // the part of its rate that the honest client should keep

	snapshots bool // there are goals for the honest client's requests and for memory
}

// greeds are the rows of the table. many is how many keys a large storage has.
func greeds(many int) []greed {
	readers := fmt.Sprintf("%d connections that ask for 1 MiB and do not read", greedyConns)
	batches := fmt.Sprintf("%d connections with batches of %s", greedyConns, thousands(kv.MaxOps))
	write := put(fewKeys, 1)
	var each []exchange
	for i := range greedyConns {
		each = append(each, batch(kv.MaxOps, batchKeys, fmt.Sprint("lock-", i)))
	}
	return []greed{
		{readers, neverRead, write, fewKeys, 1, 0.3, false},
		{readers + "; the honest client's values have 64 KiB", neverRead, putValue(fewKeys, 1, strings.Repeat(value, 4<<10)), fewKeys, 1, 0.3, false},
		{"1 connection that writes 1 MiB again and again", sendForEver(1, putValue(1, 1, largest)), write, fewKeys, 1, 0.3, false},
		{"4 connections that do", sendForEver(4, putValue(1, 1, largest)), write, fewKeys, 1, 0.3, false},
		{"16 connections that do", sendForEver(16, putValue(1, 1, largest)), write, fewKeys, 1, 0.3, false},
		{fmt.Sprintf("%d connections whose requests have %s short header fields", greedyConns, thousands(greedyFields)), sendForEver(greedyConns, manyHeaders()), write, fewKeys, 1, 0.3, false},
		{fmt.Sprintf("%d connections that pipeline %d writes", greedyConns, greedyDepth), sendForEver(greedyConns, put(fewKeys, greedyDepth)), write, fewKeys, 1, 0.3, false},
		{"16 connections that ask for /metrics", sendForEver(16, get("/metrics")), write, fewKeys, 1, 0.3, false},
		{batches + ", one scope", sendForEver(greedyConns, each[0]), write, fewKeys, 1, 0.3, false},
		{batches + ", a scope each", sendForEver(greedyConns, each...), write, fewKeys, 1, 0.3, false},
		{"snapshots of " + thousands(float64(many)) + " keys, one after another", sendForEver(1, get("/v1/snapshot")), write, many, 2, 0.8, true},
	}
}

// beGreedy is a crowd: that of a row of greeds. args are its place, the server's address, and
// how many keys a large storage has.
func beGreedy(_ context.Context, args []string) error {
	row, err := strconv.Atoi(args[0])
	many, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return greeds(many)[row].crowd(args[1], func() { fmt.Println("begun") })
}

// askAgain is after how long one that does not read begins anew, on a new connection:
// it may have been cut off, which it does not see.
const askAgain = 250 * time.Millisecond

// neverRead asks for the value of 1 MiB.
func neverRead(addr string, begun func()) error {
	ask := []byte(get("/v1/kv/" + name(0)).text)
	begun()
	var g errgroup.Group
	for range greedyConns {
		g.Go(func() error {
			for {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					return err
				}
				if _, err := c.Write(ask); err != nil {
					return err
				}
				time.Sleep(askAgain)
				c.Close()
			}
		})
	}
	return g.Wait()
}

// sendForEver has connections that send one request after another.
func sendForEver(conns int, exchanges ...exchange) func(addr string, begun func()) error {
	return func(addr string, begun func()) error {
		l, err := dial(addr, conns, exchanges...)
		if err != nil {
			return err
		}
		begun()
		_, _, err = repeat(conns, func(int) bool { return true }, l.send)
		return err
	}
}

// manyHeaders writes with a header that is as long as may be.
func manyHeaders() exchange {
	x := put(1, 1)
	var fields strings.Builder
	for i := range greedyFields {
		fmt.Fprintf(&fields, "a%04d:1\r\n", i)
	}
	x.text = strings.Replace(x.text, "Content-Length", fields.String()+"Content-Length", 1)
	return x
}

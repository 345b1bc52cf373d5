package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
)

// The kinds of greedy clients.
const (
	greedyReaders   = "readers"
	greedyBatches   = "batches"
	greedyScopes    = "scopes"
	greedySnapshots = "snapshots"
	greedyBody      = "body"
	greedyBodies4   = "bodies4"
	greedyBodies16  = "bodies16"
	greedyHeaders   = "headers"
	greedyPipelines = "pipelines"
	greedyScrapes   = "scrapes"
)

// greedyKinds are what the clients of each kind do to the server at an address until
// they are killed. They call begun when they are connected.
var greedyKinds = map[string]func(addr string, begun func()) error{
	greedyReaders:   neverRead,
	greedyBatches:   func(addr string, begun func()) error { return sendBatches(addr, 1, begun) },
	greedyScopes:    func(addr string, begun func()) error { return sendBatches(addr, greedyConns, begun) },
	greedySnapshots: takeSnapshots,
	greedyBody:      sendForEver(1, largestPut()),
	greedyBodies4:   sendForEver(4, largestPut()),
	greedyBodies16:  sendForEver(16, largestPut()),
	greedyHeaders:   sendForEver(greedyConns, manyHeaders()),
	greedyPipelines: sendForEver(greedyConns, put(fewKeys, greedyDepth)),
	greedyScrapes:   sendForEver(16, scrape),
}

func greedyCommand() *cobra.Command {
	return &cobra.Command{
		Use: roleGreedy + " KIND ADDRESS", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			work := greedyKinds[args[0]]
			if work == nil {
				return fmt.Errorf("unknown kind %q", args[0])
			}
			return work(args[1], func() { fmt.Fprintln(cmd.OutOrStdout(), "begun") })
		},
	}
}

// askAgain is after how long one that does not read begins anew, on a new connection:
// it may have been cut off, which it does not see.
const askAgain = 250 * time.Millisecond

// neverRead asks for the value of 1 MiB.
func neverRead(addr string, begun func()) error {
	request := []byte("GET /v1/kv/" + string(appendKey(nil, 0, 1)) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	begun()
	var g errgroup.Group
	for range greedyConns {
		g.Go(func() error {
			for {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					return err
				}
				if _, err := c.Write(request); err != nil {
					return err
				}
				time.Sleep(askAgain)
				c.Close()
			}
		})
	}
	return g.Wait()
}

// sendBatches sends the largest batches. Each connection has one, which is made once,
// so that the greedy clients take little of the processors themselves.
func sendBatches(addr string, scopes int, begun func()) error {
	x := batchOf(kv.MaxOps, batchKeys, scopes)
	made := make([][]byte, greedyConns)
	for i := range made {
		made[i] = x.request(nil, i)
	}
	x.request = func(buf []byte, n int) []byte { return append(buf, made[n%greedyConns]...) }
	return sendForEver(greedyConns, x)(addr, begun)
}

// sendForEver has connections that send one request after another.
func sendForEver(conns int, x exchange) func(addr string, begun func()) error {
	return func(addr string, begun func()) error {
		l, err := dial(addr, conns, x)
		if err != nil {
			return err
		}
		begun()
		_, _, err = repeat(conns, func(int) bool { return true }, l.send)
		return err
	}
}

// largestPut writes a value of 1 MiB. The request is put together once.
func largestPut() exchange {
	x := putValue(1, 1, strings.Repeat(value, kvhttp.DefaultMaxBody/len(value)))
	made := x.request(nil, 0)
	x.request = func(buf []byte, _ int) []byte {
		if len(buf) != 0 || cap(buf) < len(made) {
			return append(buf, made...)
		}
		return buf[:len(made)] // what the last request left there
	}
	return x
}

// greedyFields is how many short fields the header of a request has, in 28 KiB.
const greedyFields = 2900

// manyHeaders writes with a header that is as long as may be.
func manyHeaders() exchange {
	var fields bytes.Buffer
	for i := range greedyFields {
		fmt.Fprintf(&fields, "a%04d:1\r\n", i)
	}
	made := bytes.Replace(put(1, 1).request(nil, 0), []byte("Content-Length"), append(fields.Bytes(), "Content-Length"...), 1)
	return exchange{ops: 1, request: func(buf []byte, _ int) []byte { return append(buf, made...) }, answer: noContent}
}

// greedyDepth is how many requests a connection sends before it reads the answers.
const greedyDepth = 64

var scrape = exchange{
	ops: 1,
	request: func(buf []byte, _ int) []byte {
		return append(buf, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"...)
	},
	answer: func(r *bufio.Reader) error {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New("GET /metrics: " + answer.Status)
		}
		return err
	},
}

func takeSnapshots(addr string, begun func()) error {
	begun()
	for {
		answer, err := http.Get("http://" + addr + "/v1/snapshot")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New("GET /v1/snapshot: " + strconv.Itoa(answer.StatusCode))
		}
		if err != nil {
			return err
		}
	}
}

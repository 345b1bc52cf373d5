package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// manyConns are the numbers of connections at which one write a request is compared.
var manyConns = []int{1, 16, 64}

// overhead compares one fenced write a request, in memory, with a handler that does nothing.
func (b *bench) overhead() {
	ours, noop, bare := b.storage(), b.start(roleNoop), b.start(roleBare)
	t := b.report.table("One write a request, in memory",
		"A PUT with a token to 1,000 keys, each its own lock, and the same request to a net/http handler that only answers 204: in a server with the storage's timeouts, and in one without. *of no-op*: the rate relative to the handler with timeouts. *by processor time*: the same, by the time that server and client took on the processor, which other work changes less.",
		"connections", "", "requests/s", "of no-op", "by processor time", "processor time a request of server, client")
	b.sweep(t, nil, manyConns, func(conns int) []result {
		return b.raceLoads(conns,
			rival{"storage", ours, put(fewKeys, 1)},
			rival{"no-op", noop, put(fewKeys, 1)},
			rival{"no-op, no timeouts", bare, put(fewKeys, 1)})
	}, goal{what: "in memory, one write a request, connections: %d; rate of a no-op handler's", aim: firmly, want: 0.95},
		partOf, partByProcessor, processorTime)
}

// The storage of contrib/lock, and the one address that it knows.
const (
	originalPackage = "go.etcd.io/etcd/v3/contrib/lock/storage"
	originalAddress = "127.0.0.1:8080"
)

const contribTitle = "POST /, beside contrib/lock's own storage"

func (b *bench) contribLock() {
	program, err := b.original()
	if err != nil {
		check(missing(strings.ReplaceAll(err.Error(), "\n", " ")))
	}
	ours, original := b.storage(), b.startAt(originalAddress, roleExec, program)
	t := b.report.table(contribTitle,
		"A write to 1,000 keys by the protocol of contrib/lock, whose own storage has no timeouts, no limits, no metrics and no locks around its map; all keys are there before, as it crashes when two new keys come at once. *of the original*: the rate as a part of its rate. *by processor time*: the same, as above.",
		"connections", "", "requests/s", "of the original", "by processor time", "processor time a request of server, client")
	// All have the same version: the original refuses every other.
	write := exchange{1, request("POST", "/", "Content-Type: application/json\r\n",
		`{"op":"write","key":"`+slot+`","val":"`+value+`","version":34}`), fewKeys, contribWritten}
	send(ours, 1, write, fewKeys)
	send(original, 1, write, fewKeys)
	b.sweep(t, nil, manyConns, func(conns int) []result {
		return b.raceLoads(conns, rival{"storage", ours, write}, rival{"contrib/lock's storage", original, write})
	}, goal{what: "POST /, connections: %d; rate of contrib/lock's own storage", aim: atLeast, want: 1},
		partOf, partByProcessor, processorTime)
}

// original builds contrib/lock's storage, which package originals pins, and returns the program.
func (b *bench) original() (program string, err error) {
	ln, err := net.Listen("tcp", ":8080") // where it listens
	if err != nil {
		return "", fmt.Errorf("contrib/lock's storage knows one port: %w", err)
	}
	check(ln.Close())
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	originals := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "internal", "originals")
	program = filepath.Join(b.group.Dir, "contriblock-storage")
	build := exec.Command("go", "-C", originals, "build", "-buildvcs=false", "-o", program, originalPackage)
	build.Env = append(os.Environ(), "GOWORK=off") // go.work leaves the originals out
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w: %s", originalPackage, err, strings.TrimSpace(string(out)))
	}
	return program, nil
}

func contribWritten(r *bufio.Reader) error {
	const want = `{"val":"` + value + `","version":34,"err":""}`
	if err := readHead(r, "200 OK"); err != nil {
		return err
	}
	body, err := r.Peek(len(want))
	if string(body) != want {
		return errors.Join(fmt.Errorf("the answer is not that of a write: %s", body), err)
	}
	_, err = r.Discard(len(want))
	return err
}

const (
	batchSize = 64     // how many writes come together
	batchKeys = 10_000 // how many keys they write

	batchesTitle = "Batches of 64, in memory"
)

func (b *bench) batches() {
	redis, ours := b.launch(startRedis), b.storage()
	client := dialRedis(redis.addr)
	defer client.Close()
	sha := must(client.ScriptLoad(context.Background(), redisScript).Result())
	t := b.report.table(batchesTitle,
		"Writes of 10,000 keys under one lock, 64 at a time, over loopback TCP. *of Redis*: the rate relative to Redis with a script a write.",
		"connections", "", "writes/s", "of Redis", "processor time a write of server, client")
	each := strings.Repeat(redisCommand("EVALSHA", sha, "2", "mark:lock", slot, "34", value), batchSize)
	all := redisCommand(slices.Concat([]string{"EVALSHA", sha, strconv.Itoa(batchSize + 1), "mark:lock"},
		slices.Repeat([]string{slot}, batchSize), []string{"34"}, slices.Repeat([]string{value}, batchSize))...)
	b.sweep(t, nil, []int{1, 16}, func(conns int) []result {
		return b.raceLoads(conns,
			rival{"storage, POST /v1/batch", ours, batch(batchSize, batchKeys, "lock-0")},
			rival{"Redis, 64 scripts pipelined", redis, exchange{batchSize, each, batchKeys, several(batchSize, isOK)}},
			rival{"Redis, one script for all 64", redis, exchange{batchSize, all, batchKeys, isOK}},
			rival{"storage, 64 PUTs pipelined", ours, put(batchKeys, batchSize)})
	}, goal{what: "batches of 64, %d connections: rate of Redis with the check in Lua, pipelined by 64", aim: atLeast, want: 1},
		partOf, processorTime)
}

// redisScript does what the storage does with a write, or with a batch.
//
//go:embed redis.lua
var redisScript string

func redisCommand(words ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return text
}

func isOK(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err == nil && string(line) != "+OK\r\n" {
		err = fmt.Errorf("redis answers %q", line)
	}
	return err
}

package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// manyConns are the numbers of connections at which one write a request is compared.
var manyConns = []int{1, 16, 64}

// overhead compares one fenced write a request, in memory, with a handler that does nothing.
func (b *bench) overhead() {
	ours, noop, bare := b.storage(), b.start(roleNoop), b.start(roleBare)
	t := b.report.table("One write a request, in memory",
		"A PUT with a token to 1,000 keys, each its own lock, and the same request to a net/http handler that only answers 204, with the storage's timeouts and without.",
		"connections", "", "requests/s", "of no-op", "processor time a request of server, client")
	b.sweep(t, nil, manyConns, func(conns int) []result {
		return b.raceLoads(conns,
			rival{"storage", ours, put(fewKeys, 1)},
			rival{"no-op", noop, put(fewKeys, 1)},
			rival{"no-op, no timeouts", bare, put(fewKeys, 1)})
	}, goal{what: "in memory, one write a request, by connections; rate of a no-op handler's", aim: firmly, want: 0.95},
		partOf, processorTime)
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
		fail.If(missing(strings.ReplaceAll(err.Error(), "\n", " ")))
	}
	ours, original := b.storage(), b.startAt(originalAddress, roleExec, program)
	t := b.report.table(contribTitle,
		"A write to 1,000 keys by the protocol of contrib/lock, whose own storage has no timeouts, limits or metrics, and no locks around its map. All keys are there before: it crashes when two new keys come at once.",
		"connections", "", "requests/s", "of the original", "processor time a request of server, client")
	// All have the same version: the original refuses every other.
	write := exchange{1, request("POST", "/", "Content-Type: application/json\r\n",
		`{"op":"write","key":"`+slot+`","val":"`+value+`","version":34}`), fewKeys, contribWritten}
	send(ours, 1, write, fewKeys)
	send(original, 1, write, fewKeys)
	b.sweep(t, nil, manyConns, func(conns int) []result {
		return b.raceLoads(conns, rival{"storage", ours, write}, rival{"contrib/lock's storage", original, write})
	}, goal{what: "POST /, by connections; rate of contrib/lock's own storage", aim: atLeast, want: 1},
		partOf, processorTime)
}

// original builds contrib/lock's storage, which package originals pins, and returns the program.
func (b *bench) original() (program string, err error) {
	ln, err := net.Listen("tcp", ":8080") // where it listens
	if err != nil {
		return "", fmt.Errorf("contrib/lock's storage knows one port: %w", err)
	}
	fail.If(ln.Close())
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	originals := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "internal", "tools", "originals")
	program = filepath.Join(b.group.Dir, "contriblock-storage")
	build := exec.Command("go", "-C", originals, "build", "-buildvcs=false", "-o", program, originalPackage)
	build.Env = append(os.Environ(), "GOWORK=off") // go.work leaves the originals out
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w: %s", originalPackage, err, strings.TrimSpace(string(out)))
	}
	return program, nil
}

func contribWritten(r *bufio.Reader) {
	const want = `{"val":"` + value + `","version":34,"err":""}`
	readHead(r, "200 OK")
	body, err := r.Peek(len(want))
	if string(body) != want {
		fail.If(errors.Join(fmt.Errorf("the answer is not that of a write: %s", body), err))
	}
	fail.Must(r.Discard(len(want)))
}

const (
	batchSize = 64     // how many writes come together
	batchKeys = 10_000 // how many keys they write

	batchesTitle = "Batches of 64, in memory"
)

func (b *bench) batches() {
	redis, ours := b.launch(startRedis), b.storage()
	client, end := dialRedis(redis.addr)
	defer end()
	sha := fail.Must(client.ScriptLoad(context.Background(), redisScript).Result())
	t := b.report.table(batchesTitle,
		"Writes of 10,000 keys under one lock, 64 at a time.",
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
	}, goal{what: "batches of 64, by connections; rate of Redis with the check in Lua, pipelined by 64", aim: atLeast, want: 1},
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

func isOK(r *bufio.Reader) {
	if line := fail.Must(r.ReadSlice('\n')); string(line) != "+OK\r\n" {
		fail.If(fmt.Errorf("redis answers %q", line))
	}
}

// load is connections that send the same kind of request to one server. The requests are written by hand, for
// all servers alike, so that the client costs little beside them and nobody's client library is measured.
type load struct {
	conns []*conn
	ops   int // done by one request
}

// exchange is a request and what has to come back.
type exchange struct {
	ops    int                   // done by one
	text   string                // of a request. Each slot in it is the place of the next key
	keys   int                   // that there are
	answer func(r *bufio.Reader) // reads all of the answer, and fails where it is not a success
}

type conn struct {
	net.Conn
	exchange
	r       *bufio.Reader
	request []byte // the last one that was sent, or text
	slots   []int  // where keys are
	n, step int    // of the next request; from one to the next
}

// dial makes connections, which take the exchanges in turns.
func dial(addr string, conns int, exchanges ...exchange) *load {
	l := &load{ops: exchanges[0].ops}
	for i := range conns {
		c := fail.Must(net.Dial("tcp", addr))
		x := exchanges[i%len(exchanges)]
		made := &conn{Conn: c, exchange: x, r: bufio.NewReaderSize(c, 16<<10), request: []byte(x.text), n: i, step: conns}
		for _, place := range slots.FindAllStringIndex(x.text, -1) {
			made.slots = append(made.slots, place[0])
		}
		l.conns = append(l.conns, made)
	}
	return l
}

func (l *load) close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// turn has each connection send request after request.
func (l *load) turn(d time.Duration) (int, time.Duration) {
	return working(len(l.conns), l.ops, func(_ context.Context, i int) { l.send(i) })(d)
}

// send sends the first n requests to a server, by so many connections.
func send(s *server, conns int, x exchange, n int) {
	l := dial(s.addr, conns, x)
	defer l.close()
	repeat(conns, func(i int) bool { return l.conns[i].n < n }, l.send)
}

// send sends the connection's next request and reads the answer.
func (l *load) send(i int) {
	c := l.conns[i]
	for i, at := range c.slots {
		key := keyNumber(c.n*len(c.slots)+i, c.keys)
		for digit := at + len(slot) - 1; c.request[digit] != '-'; digit-- {
			c.request[digit] = byte('0' + key%10)
			key /= 10
		}
	}
	c.n += c.step
	fail.If(c.SetDeadline(time.Now().Add(turnSlack)))
	fail.Must(c.Write(c.request))
	c.answer(c.r)
}

// slot is where a request has a key.
const slot = "key-############"

var slots = regexp.MustCompile(slot)

// name has 16 bytes.
func name(i int) string { return fmt.Sprintf("key-%012d", i) }

// key is the key of the n-th write. keyNumber is its number: neighbours are far apart, as they are
// where many clients write. 7919 is a prime.
func key(n, keys int) string { return name(keyNumber(n, keys)) }

func keyNumber(n, keys int) int { return n * 7919 % keys }

// fewKeys fit into any cache.
const fewKeys = 1000

const value = "0123456789abcdef"

// put is a fenced write over HTTP, pipelined by depth.
func put(keys, depth int) exchange { return putValue(keys, depth, value) }

func putValue(keys, depth int, value string) exchange {
	one := request("PUT", "/v1/kv/"+slot, "Fencing-Token: 34\r\n", value)
	return exchange{depth, strings.Repeat(one, depth), keys, several(depth, noContent)}
}

var largest = strings.Repeat(value, kvhttp.DefaultMaxBody/len(value))

// batch is a POST /v1/batch of so many writes under one lock.
func batch(ops, keys int, scope string) exchange {
	writes := strings.Repeat(`,{"op":"write","key":"`+slot+`","val":"`+value+`"}`, ops)
	head := "Fencing-Token: 34\r\nFencing-Scope: " + scope + "\r\n"
	return exchange{ops, request("POST", "/v1/batch", head, `{"ops":[`+writes[1:]+"]}"), keys, noContent}
}

// get reads all of an answer that may be long.
func get(path string) exchange {
	return exchange{ops: 1, text: "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n", answer: func(r *bufio.Reader) {
		answer := fail.Must(http.ReadResponse(r, nil))
		defer answer.Body.Close()
		fail.Must(io.Copy(io.Discard, answer.Body))
		if answer.StatusCode != http.StatusOK {
			fail.If(errors.New("GET " + path + ": " + answer.Status))
		}
	}}
}

// request is one by HTTP. The header's lines have their ends.
func request(method, path, header, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", method, path, header, len(body), body)
}

func several(n int, answer func(*bufio.Reader)) func(*bufio.Reader) {
	return func(r *bufio.Reader) {
		for range n {
			answer(r)
		}
	}
}

func noContent(r *bufio.Reader) { readHead(r, "204 No Content") }

// readHead reads an answer without its body. It must have a status.
func readHead(r *bufio.Reader, status string) {
	line := fail.Must(r.ReadSlice('\n'))
	if string(line) != "HTTP/1.1 "+status+"\r\n" {
		rest := make([]byte, r.Buffered())
		r.Read(rest)
		fail.If(fmt.Errorf("the answer is not %s: %s%s", status, line, rest))
	}
	for len(line) != len("\r\n") {
		line = fail.Must(r.ReadSlice('\n'))
	}
}

type rival struct {
	name     string
	server   *server
	exchange exchange
}

// raceLoads compares servers, each with so many connections.
func (b *bench) raceLoads(conns int, rivals ...rival) []result {
	var cs []contender
	for _, r := range rivals {
		l := dial(r.server.addr, conns, r.exchange)
		defer l.close()
		cs = append(cs, contender{r.name, l.turn, r.server})
	}
	return b.race(cs...)
}

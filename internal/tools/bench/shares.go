package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// sharesRounds is fewer rounds than elsewhere: there are many rows.
const sharesRounds = 7

// shares measures what greedy clients leave to an honest one.
func (b *bench) shares() {
	t := b.report.table("Beside greedy clients",
		"An honest client has one connection and writes as in \"One write a request\", alone and beside greedy clients. All clients come from one address, and none has a bearer token. *longest*: of the honest client's requests in a turn; *of all*: in all turns beside the greedy clients. *thread*: how late a sleeping thread of the honest client was woken at most in a turn. *memory*: the most that the storage's process took in a turn.",
		"greedy clients", "requests/s alone", "beside them", "of alone", "longest, ms: alone; beside", "of all", "thread, ms: alone; beside", "memory, MB: alone; beside; ratio")
	for i, g := range greeds(b.many) {
		named(g.name, b.inGroup(func() { b.share(t, i, g) }))
	}
}

// share adds a row. The honest client is alone at a storage of its own, so that each
// turn begins with what the same kind of turn left.
func (b *bench) share(t *table, row int, g greed) {
	quiet, besieged := b.filledStorage(g.keys), b.filledStorage(g.keys)
	crowd := b.crowd(row, besieged)
	alone := &honest{load: dial(quiet.addr, 1, g.honest), server: quiet}
	defer alone.close()
	beside := &honest{load: dial(besieged.addr, 1, g.honest), server: besieged, crowd: crowd}
	defer beside.close()
	turns := bench{size: b.size}
	turns.rounds, turns.turn = min(b.rounds, sharesRounds), b.turn*time.Duration(g.turns)
	results := turns.race(contender{"alone", alone.turn, quiet}, contender{"beside", beside.turn, besieged})
	part, memory := ratios(results[1].rates, results[0].rates), ratios(beside.memory[1:], alone.memory[1:])
	both := func(of func(*honest) []float64) string {
		return number(spreadOf(of(alone)[1:]).median) + "; " + number(spreadOf(of(beside)[1:]).median)
	}
	worst := spreadOf(beside.longest[1:]).highest
	t.add(g.name, rate(results[0].rates), rate(results[1].rates), part.String(),
		both(func(h *honest) []float64 { return h.longest }), number(worst),
		both(func(h *honest) []float64 { return h.woken }),
		both(func(h *honest) []float64 { return h.memory })+"; "+memory.String())
	b.report.goal("an honest client beside "+g.name+"; part of its rate alone", "", atLeast, g.want, part)
	if g.snapshots {
		b.report.goal("beside these snapshots; longest time that a request of the honest client took, ms", "", neverAbove, 50, spreadOf(beside.longest[1:]))
		b.report.goal("beside these snapshots; memory of the storage, of that without", "", atMost, 1.3, memory)
	}
}

// filledStorage is one that has so many keys, and a value of 1 MiB.
func (b *bench) filledStorage(keys int) *server {
	s := b.storage()
	send(s, 1, putValue(1, 1, largest), 1)
	send(s, 1, batch(kv.MaxOps, keys, "lock-0"), (keys+kv.MaxOps-1)/kv.MaxOps)
	return s
}

// honest is a client with one connection. A value is added to each list in each turn;
// the first is the one that warms up.
type honest struct {
	*load
	server *server
	crowd  *crowd // nil: it is alone

	longest []float64 // ms that one of its requests took
	woken   []float64 // ms; see lateness
	memory  []float64 // MB of the server
}

func (h *honest) turn(d time.Duration) (ops int, took time.Duration) {
	// VmHWM of the process begins anew; see proc_pid_clear_refs(5).
	fail.If(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", h.server.PID()), []byte("5"), 0))
	if h.crowd != nil {
		fail.If(h.crowd.Resume())
		defer h.crowd.rest()
	}
	late := lateness()
	var longest time.Duration
	ops, took = working(1, 1, func(context.Context, int) {
		start := time.Now()
		h.send(0)
		longest = max(longest, time.Since(start))
	})(d)
	h.longest = append(h.longest, milliseconds(longest))
	h.woken = append(h.woken, milliseconds(late()))
	h.memory = append(h.memory, float64(memoryOf(h.server, "VmHWM"))/1e6)
	return ops, took
}

// lateness begins to watch how late a thread is woken. The function that it returns
// ends that, and tells the longest time.
func lateness() (end func() time.Duration) {
	const nap = time.Millisecond
	over, found := make(chan struct{}), make(chan time.Duration)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var longest time.Duration
		for {
			select {
			case <-over:
				found <- longest
				return
			default:
			}
			start, ts := time.Now(), unix.NsecToTimespec(nap.Nanoseconds())
			if unix.Nanosleep(&ts, nil) == nil { // else a signal came
				longest = max(longest, time.Since(start)-nap)
			}
		}
	}()
	return func() time.Duration { close(over); return <-found }
}

// crowd is a process of greedy clients. It stands still except in their turns.
type crowd struct {
	*server
	of *server // what they use
}

// crowd starts that of a row of greeds.
func (b *bench) crowd(row int, of *server) *crowd {
	p := fail.Must(b.group.Start(roleGreedy, nil, roleGreedy, strconv.Itoa(row), of.addr, strconv.Itoa(b.many)))
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		fail.If(p.Ended())
	}
	c := &crowd{&server{Process: p, addr: of.addr}, of}
	c.rest()
	return c
}

// rest stops the crowd, and returns when their server has done what they had asked for:
// when it takes next to no processor time any more.
func (c *crowd) rest() {
	const look, idle = 10 * time.Millisecond, time.Millisecond
	fail.If(c.Pause())
	end := time.Now().Add(turnSlack)
	for time.Now().Before(end) {
		_, before := c.of.used()
		time.Sleep(look)
		if _, after := c.of.used(); after-before < idle {
			return
		}
	}
	fail.If(fmt.Errorf("the server is still at work %v after its clients were stopped", turnSlack))
}

const (
	greedyConns  = 64   // connections of greedy clients, where the row tells no other number
	greedyFields = 2900 // how many short fields the header of a request has, in 28 KiB
	greedyDepth  = 64   // how many requests a connection sends before it reads the answers
)

// greed is what greedy clients do, and what an honest client does beside them.
type greed struct {
	name   string
	crowd  func(addr string, begun func()) // until it is killed. It calls begun when it is connected
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
func beGreedy(_ context.Context, args []string) {
	row, many := fail.Must(strconv.Atoi(args[0])), fail.Must(strconv.Atoi(args[2]))
	greeds(many)[row].crowd(args[1], func() { fmt.Println("begun") })
}

// askAgain is after how long one that does not read begins anew, on a new connection:
// it may have been cut off, which it does not see.
const askAgain = 250 * time.Millisecond

func neverRead(addr string, begun func()) {
	ask := []byte(get("/v1/kv/" + name(0)).text)
	begun()
	repeat(greedyConns, forEver, func(int) {
		c := fail.Must(net.Dial("tcp", addr))
		fail.Must(c.Write(ask))
		time.Sleep(askAgain)
		c.Close()
	})
}

func sendForEver(conns int, exchanges ...exchange) func(addr string, begun func()) {
	return func(addr string, begun func()) {
		l := dial(addr, conns, exchanges...)
		begun()
		repeat(conns, forEver, l.send)
	}
}

func forEver(int) bool { return true }

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

// latencyConns is on how many connections requests wait for an answer.
const latencyConns = 64

// latencies measures how long writes take at a rate that a server can bear.
func (b *bench) latencies() {
	rivals := []rival{
		{"no-op handler", b.start(roleNoop), put(fewKeys, 1)},
		{"memory", b.storage(), put(fewKeys, 1)},
		{"bolt", b.boltStorage("latency"), put(fewKeys, 1)},
	}
	t := b.report.table("Latency at 70 % of the highest rate",
		"A write a request, 1,000 keys, 64 connections. Requests are due at even intervals, and the time counts from when a request was due (no coordinated omission).",
		"", "highest, requests/s", "sent, requests/s", "p50, ms", "p99, ms", "p99.9, ms")
	highest := make([]float64, len(rivals))
	for i, r := range rivals {
		highest[i] = spreadOf(b.raceLoads(latencyConns, r)[0].rates).median
	}
	sent := make([][]float64, len(rivals))
	found := make([][len(quantiles)][]float64, len(rivals))
	for range latencyRounds {
		for i, r := range rivals {
			named(r.name, fail.Caught(func() {
				took, rate := paced(r, highest[i]*0.7, b.latency)
				sent[i] = append(sent[i], rate)
				for q, percent := range quantiles {
					found[i][q] = append(found[i][q], quantile(took, percent))
				}
			}))
		}
	}
	for i, r := range rivals {
		row := []string{r.name, thousands(highest[i]), rate(sent[i])}
		for q := range quantiles {
			row = append(row, spreadOf(found[i][q]).String())
		}
		t.add(row...)
	}
}

var quantiles = [...]float64{50, 99, 99.9}

// latencyRounds is how often each server has its turn: a neighbour's burst of work spoils one.
const latencyRounds = 5

// paced sends requests that are due at even intervals, each on the next connection that is free, and says how
// many ms after they were due they were answered, and how many a second were.
func paced(r rival, perSecond float64, d time.Duration) ([]float64, float64) {
	l := dial(r.server.addr, latencyConns, r.exchange)
	defer l.close()
	total := int(perSecond * d.Seconds())
	due := make(chan time.Time, total) // all fit: to wait in it is part of the latency
	took := make([][]float64, len(l.conns))
	var g errgroup.Group
	for i := range l.conns {
		begin(&g, func() {
			for at := range due {
				l.send(i)
				took[i] = append(took[i], milliseconds(time.Since(at)))
			}
		})
	}
	start := time.Now()
	err := pace(start, time.Duration(float64(time.Second)/perSecond), total, due)
	close(due)
	fail.If(errors.Join(err, g.Wait()))
	return slices.Concat(took...), float64(total) / time.Since(start).Seconds()
}

// pace sends the times at which n requests are due, when they are. It sleeps by the system's clock on a
// thread of its own: Go's timers may be late by a millisecond.
func pace(start time.Time, interval time.Duration, n int, due chan<- time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range n {
		at := start.Add(time.Duration(i) * interval)
		for left := time.Until(at); left > 0; left = time.Until(at) {
			ts := unix.NsecToTimespec(left.Nanoseconds())
			if err := unix.Nanosleep(&ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		due <- at
	}
	return nil
}

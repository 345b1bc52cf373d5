package redisproc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// tick is how often the embedded server's clock moves on while nobody asks for anything. It has none of its own.
const tick = 10 * time.Millisecond

// embedded is a miniredis that has a replication stream, as a real Redis has: who asks by PSYNC is sent an empty
// snapshot, and then the commands that make of its keys what they are, in the order in which they changed. What one
// command, script or transaction changes is in one transaction of the stream.
type embedded struct {
	redis *miniredis.Miniredis

	mu       sync.Mutex // held while a command runs
	now      time.Time  // by its own clock
	seen     map[string]content
	replicas []*server.Peer

	clients sync.Map                    // the peers that are connections of clients
	running atomic.Pointer[server.Peer] // whose command runs
}

// Jump is a command of the embedded server's own: its clock jumps forward, by so many ms.
const Jump = "FENCELAB.JUMP"

type content struct {
	kind   string // "string", "hash", or another type, of which no more is known
	text   string
	fields map[string]string
	until  string // when it expires, in ms since 1970; "": never
}

func serveEmbedded(addr string) error {
	e := &embedded{redis: miniredis.NewMiniRedis()}
	if err := e.redis.StartAddr(addr); err != nil {
		return fmt.Errorf("embedded redis: %w", err)
	}
	e.now = time.Now()
	e.redis.Server().SetPreHook(e.hook)
	for range time.Tick(tick) {
		e.step(func() {})
	}
	return nil
}

// blocking are the commands that wait for others, which could not run meanwhile. What they
// change is told with the next change.
var blocking = []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "XREAD", "XREADGROUP"}

// hook runs a command as a step, and answers those of replication.
func (e *embedded) hook(peer *server.Peer, cmd string, args ...string) (done bool) {
	switch {
	case !e.isClient(peer) || e.running.Load() == peer || slices.Contains(blocking, cmd):
		return false
	case cmd == "REPLCONF":
		if len(args) == 0 || !strings.EqualFold(args[0], "ACK") {
			peer.WriteOK()
		}
		return true
	case cmd == "PSYNC":
		e.follow(peer)
		return true
	case cmd == Jump:
		e.jump(peer, args)
		return true
	}
	e.step(func() {
		e.running.Store(peer)
		defer e.running.Store(nil)
		e.redis.Server().Dispatch(peer, append([]string{cmd}, args...))
	})
	return true
}

// isClient reports whether a peer is the connection of a client. A script calls commands by other
// peers, which have a context before their first command.
func (e *embedded) isClient(peer *server.Peer) bool {
	_, known := e.clients.Load(peer)
	if !known && peer.Ctx == nil {
		known = true
		e.clients.Store(peer, nil)
		peer.OnDisconnect(func() {
			e.clients.Delete(peer)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.replicas = slices.DeleteFunc(e.replicas, func(other *server.Peer) bool { return other == peer })
		})
	}
	return known
}

// follow begins the stream of a replica.
func (e *embedded) follow(peer *server.Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	peer.WriteInline("FULLRESYNC " + strings.Repeat("0", 40) + " 0")
	peer.Block(func(w *server.Writer) { w.WriteRaw("$0\r\n") })
	peer.Flush()
	if len(e.replicas) == 0 {
		e.seen = e.contents()
	}
	e.replicas = append(e.replicas, peer)
}

// jump has the clock jump. What expires by it is told before the answer.
func (e *embedded) jump(peer *server.Peer, args []string) {
	ms, err := strconv.ParseInt(strings.Join(args, " "), 10, 64)
	if err != nil || ms < 0 {
		peer.WriteError("ERR " + Jump + " wants a number of milliseconds")
		return
	}
	e.step(func() { e.redis.FastForward(time.Duration(ms) * time.Millisecond) })
	peer.WriteOK()
}

// step does something alone, with the clock as it is now, and sends what has changed.
func (e *embedded) step(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.redis.FastForward(now.Sub(e.now))
	e.now = now
	do()
	e.tell()
}

// tell sends what has changed since the last time.
func (e *embedded) tell() {
	if len(e.replicas) == 0 {
		return
	}
	now := e.contents()
	changes := changes(e.seen, now)
	e.seen = now
	if len(changes) > 1 {
		changes = slices.Concat([][]string{{"MULTI"}}, changes, [][]string{{"EXEC"}})
	}
	for _, peer := range e.replicas {
		for _, c := range changes {
			peer.Block(func(w *server.Writer) { w.WriteStrings(c) })
		}
		peer.Flush()
	}
}

func (e *embedded) contents() map[string]content {
	now := make(map[string]content)
	for _, key := range e.redis.Keys() {
		c := content{kind: e.redis.Type(key)}
		if ttl := e.redis.TTL(key); ttl > 0 {
			c.until = strconv.FormatInt(e.now.Add(ttl).UnixMilli(), 10)
		}
		switch c.kind {
		case "string":
			c.text, _ = e.redis.Get(key)
		case "hash":
			c.fields = make(map[string]string)
			fields, _ := e.redis.HKeys(key)
			for _, f := range fields {
				c.fields[f] = e.redis.HGet(key, f)
			}
		}
		now[key] = c
	}
	return now
}

// changes are the commands that make of some keys others.
func changes(before, now map[string]content) (commands [][]string) {
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, is := before[key], now[key]
		if was.kind != "" && (was.kind != is.kind || !maps.Equal(was.fields, is.fields)) {
			commands = append(commands, []string{"DEL", key})
			was = content{}
		}
		switch {
		case is.kind == "string" && (was.kind == "" || was.text != is.text):
			set := []string{"SET", key, is.text}
			if was.until = is.until; is.until != "" {
				set = append(set, "PXAT", is.until)
			}
			commands = append(commands, set)
		case is.kind == "hash" && was.kind == "":
			set := []string{"HSET", key}
			for _, f := range slices.Sorted(maps.Keys(is.fields)) {
				set = append(set, f, is.fields[f])
			}
			commands = append(commands, set)
		}
		switch {
		case is.until == was.until:
		case is.until == "":
			commands = append(commands, []string{"PERSIST", key})
		default:
			commands = append(commands, []string{"PEXPIREAT", key, is.until})
		}
	}
	return commands
}

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/replica"
)

// marker is a key that is written to be seen in the stream.
const marker = "fencelab_account:"

// contents is a script that says what keys hold, and marks in the stream when that was.
var contents = script("contents")

// watch is the account of one node, by its replication stream.
type watch struct {
	stream *replica.Stream
	client *redis.Client // that writes marks
	stop   context.CancelFunc
	ended  chan struct{}
	marks  sync.Map // of chan struct{}, by mark: closed when the account has what was before it
}

func newWatch(stream *replica.Stream, client *redis.Client, stop context.CancelFunc) *watch {
	return &watch{stream: stream, client: client, stop: stop, ended: make(chan struct{})}
}

// observe begins the account of a node, or goes on with it after the node was away. It
// returns when the account has what the node holds.
func (n *node) observe(ctx context.Context, a *account) error {
	starting, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, fmt.Errorf("%s does not answer after %v", n.name, service.ObserveDeadline))
	defer cancel()
	conn, err := n.dial(starting)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	stream, err := replica.Follow(starting, conn, n.options.Username, n.options.Password)
	if err != nil {
		return fmt.Errorf("observer of %s: %w", n.name, err)
	}
	ctx, stop := context.WithCancel(ctx)
	w, p := newWatch(stream, redis.NewClient(n.options), stop), n.process()
	here := make(database)
	if !n.servers.clustered() { // where a node begins with nothing, and does not take a key of any slot
		here, err = w.begin(starting, a.locks)
	}
	if err != nil {
		stop()
		stream.Close()
		w.client.Close()
		return fmt.Errorf("observer of %s: %w", n.name, errors.Join(err, context.Cause(starting)))
	}
	n.watch = w
	a.change(n.place, func(database) database { return here })
	n.servers.stage.Go(func() {
		defer a.outlast(ctx, n.place)
		defer close(w.ended)
		defer w.client.Close()
		defer stream.Close()
		defer context.AfterFunc(ctx, stream.Close)()
		if err := w.follow(func(commands [][]string) {
			if receives(commands) {
				n.servers.awaitOthers(n) // which has told by then what the key had
			}
			a.change(n.place, func(d database) database {
				for _, c := range commands {
					a.move(d, c)
					d.apply(c)
				}
				return d
			})
			w.pass(commands)
		}); ctx.Err() == nil {
			n.servers.stage.Fail(p, fmt.Errorf("the observer of %s: %w", n.name, err))
		}
	})
	return nil
}

// begin is what the keys of locks hold when the stream has a mark, and reads the stream up to there.
func (w *watch) begin(ctx context.Context, locks []string) (database, error) {
	defer context.AfterFunc(ctx, w.stream.Close)()
	mark := marker + rand.Text()
	here, err := contentsOf(ctx, w.client, locks, mark)
	for err == nil {
		var command []string
		if command, err = w.stream.Next(); len(command) > 1 && command[1] == mark {
			break
		}
	}
	return here, err
}

// awaitAccount returns when the account has all that the node did before, or when the node
// says nothing more.
func (n *node) awaitAccount() {
	n.away.RLock()
	w := n.watch
	n.away.RUnlock()
	mark, passed := rand.Text(), make(chan struct{})
	w.marks.Store(mark, passed)
	defer w.marks.Delete(mark)
	if w.client.Set(context.Background(), marker+n.tag, mark, time.Second).Err() != nil {
		return // it is dead, or stands still, or takes nothing more
	}
	select {
	case <-passed:
	case <-w.ended:
	}
}

// pass tells of the marks among commands that the account has taken in.
func (w *watch) pass(commands [][]string) {
	for _, c := range commands {
		if len(c) > 2 && strings.HasPrefix(c[1], marker) {
			if passed, waits := w.marks.LoadAndDelete(c[2]); waits {
				close(passed.(chan struct{}))
			}
		}
	}
}

// contentsOf is what the keys of locks hold at the time when the stream has the mark.
func contentsOf(ctx context.Context, client *redis.Client, locks []string, mark string) (database, error) {
	keys := []string{mark}
	for _, lock := range locks {
		keys = append(keys, watched(lock)...)
	}
	found, err := contents.Run(ctx, client, keys).Slice()
	if err != nil {
		return nil, err
	}
	d := make(database)
	for i, f := range found {
		if answer, there := f.([]any); there {
			d[keys[i+1]] = valueOf(answer)
		}
	}
	return d, nil
}

// valueOf is a value by the script's answer: what it holds, and its PTTL.
func valueOf(answer []any) *value {
	v := new(value)
	if fields, is := answer[0].([]any); is {
		v.fields = make(map[string]string)
		for pair := range slices.Chunk(fields, 2) {
			v.fields[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
		}
	} else {
		v.text = fmt.Sprint(answer[0])
	}
	if ms, is := answer[1].(int64); is && ms >= 0 {
		v.until = time.Now().Add(time.Duration(ms) * time.Millisecond)
	}
	return v
}

// follow hands over what the node did at once, again and again.
func (w *watch) follow(do func(commands [][]string)) error {
	var transaction [][]string
	open := false
	for {
		command, err := w.stream.Next()
		if err != nil {
			return err
		}
		switch command[0] {
		case "PING", "SELECT", "REPLCONF":
		case "MULTI":
			open = true
		case "EXEC":
			do(transaction)
			transaction, open = nil, false
		default:
			if transaction = append(transaction, command); !open {
				do(transaction)
				transaction = nil
			}
		}
	}
}

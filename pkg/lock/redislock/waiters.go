package redislock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// waiters are those who wait for locks of one Redis. All of them share a connection, which is
// there as long as one of them waits.
type waiters struct {
	client redis.UniversalClient

	mu       sync.Mutex
	line     *line // nil: nobody waits
	waiting  int
	channels map[string]*channel
}

// line is a connection for messages.
type line struct {
	sub     *redis.PubSub
	changed chan struct{} // has an element when channels have come or gone
	hangUp  context.CancelFunc
}

// channel is a channel of Redis, and those who listen to it, in the order in which they
// came.
type channel struct {
	name      string
	waiting   []*waiter
	confirmed bool // Redis has said that it sends the channel's messages
}

// waiter is woken by news: when it is to ask for the lock again.
type waiter struct {
	all    *waiters
	on     *channel
	owner  string // "": messages name nobody
	shared bool
	news   chan struct{}
}

func newWaiters(client redis.UniversalClient) *waiters { return &waiters{client: client} }

// join waits on a channel. The waiter is woken for the first time when no message can be
// missed any more.
func (w *waiters) join(name, owner string, shared bool) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line == nil {
		w.begin()
	}
	c := w.channels[name]
	if c == nil {
		c = &channel{name: name}
		w.channels[name] = c
		w.line.change()
	}
	one := &waiter{all: w, on: c, owner: owner, shared: shared, news: make(chan struct{}, 1)}
	c.waiting = append(c.waiting, one)
	w.waiting++
	if c.confirmed {
		one.wake()
	}
	return one
}

// begin begins a connection, in the background. It is called with w.mu held.
func (w *waiters) begin() {
	ctx, hangUp := context.WithCancel(context.Background())
	l := &line{sub: w.client.Subscribe(ctx), changed: make(chan struct{}, 1), hangUp: hangUp}
	w.line, w.channels = l, make(map[string]*channel)
	context.AfterFunc(ctx, func() { l.sub.Close() })
	go w.follow(ctx, l)
	go w.listen(ctx, l)
}

// leave waits no more. Where the lock was not granted, the wake-up that the waiter may have
// had is passed on.
func (one *waiter) leave(granted bool) {
	w, c := one.all, one.on
	w.mu.Lock()
	defer w.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(o *waiter) bool { return o == one })
	w.waiting--
	switch {
	case w.waiting == 0:
		w.line.hangUp()
		w.line = nil
	case len(c.waiting) == 0:
		w.line.change()
	case !granted:
		c.message("")
	}
}

func (one *waiter) wake() {
	select {
	case one.news <- struct{}{}:
	default: // it has not asked since it was woken before
	}
}

// message wakes whom a message is for: the one that it names; or else all readers and
// one writer, because of the others none would get the lock.
func (c *channel) message(text string) {
	writer := false
	for _, one := range c.waiting {
		named := one.owner != "" && text != ""
		switch {
		case named && one.owner != text:
		case named || one.shared:
			one.wake()
		case !writer:
			one.wake()
			writer = true
		}
	}
}

func (l *line) change() {
	select {
	case l.changed <- struct{}{}:
	default: // it is to look already
	}
}

// follow tells Redis of the channels that have come and gone, until ctx is done.
func (w *waiters) follow(ctx context.Context, l *line) {
	told := make(map[string]bool)
	for {
		select {
		case <-l.changed:
		case <-ctx.Done():
			return
		}
		come, gone := w.changes(l, told)
		if len(gone) > 0 {
			_ = l.sub.Unsubscribe(ctx, gone...) // where it fails, the next connection is without them
		}
		if len(come) > 0 && l.sub.Subscribe(ctx, come...) != nil {
			for _, name := range come {
				delete(told, name)
			}
			l.change()
			rest(ctx)
		}
	}
}

// rest leaves a connection alone that broke.
func rest(ctx context.Context) { _ = attempt.Sleep(ctx, 100*time.Millisecond) }

// changes are the channels that have come and gone since Redis was told. A channel on which
// nobody waits goes.
func (w *waiters) changes(l *line, told map[string]bool) (come, gone []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line != l {
		return nil, nil
	}
	for name, c := range w.channels {
		switch {
		case len(c.waiting) == 0:
			delete(w.channels, name)
			if told[name] {
				gone = append(gone, name)
				delete(told, name)
			}
		case !told[name]:
			come = append(come, name)
			told[name] = true
		}
	}
	return come, gone
}

// listen receives messages until ctx is done.
func (w *waiters) listen(ctx context.Context, l *line) {
	for ctx.Err() == nil {
		news, err := l.sub.Receive(ctx)
		if err != nil {
			rest(ctx)
			continue
		}
		w.hear(l, news)
	}
}

// hear wakes all where messages may have been missed before, and else whom the message is
// for.
func (w *waiters) hear(l *line, news any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line != l {
		return
	}
	switch news := news.(type) {
	case *redis.Subscription:
		if c := w.channels[news.Channel]; c != nil && news.Kind == "subscribe" {
			c.confirmed = true
			for _, one := range c.waiting {
				one.wake()
			}
		}
	case *redis.Message:
		if c := w.channels[news.Channel]; c != nil {
			c.message(news.Payload)
		}
	}
}

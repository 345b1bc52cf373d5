package redislock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// waiters are those who wait for locks of one Redis. Those of one channel share a
// connection, which is there as long as one of them waits.
type waiters struct {
	client redis.UniversalClient

	mu       sync.Mutex
	channels map[string]*channel
}

// channel is a channel of Redis, and those who listen to it, in the order in which they
// came.
type channel struct {
	name      string
	waiting   []*waiter
	confirmed bool // Redis has said that it sends the channel's messages
	hangUp    context.CancelFunc
}

// waiter is woken by news: when it is to ask for the lock again.
type waiter struct {
	all    *waiters
	on     *channel
	owner  string // "": messages name nobody
	shared bool
	news   chan struct{}
}

func newWaiters(client redis.UniversalClient) *waiters {
	return &waiters{client: client, channels: make(map[string]*channel)}
}

// join waits on a channel. The waiter is woken for the first time when no message can be
// missed any more.
func (w *waiters) join(name, owner string, shared bool) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[name]
	if c == nil {
		c = &channel{name: name}
		w.channels[name] = c
		var ctx context.Context
		ctx, c.hangUp = context.WithCancel(context.Background())
		go w.listen(ctx, c)
	}
	one := &waiter{all: w, on: c, owner: owner, shared: shared, news: make(chan struct{}, 1)}
	c.waiting = append(c.waiting, one)
	if c.confirmed {
		one.wake()
	}
	return one
}

// leave waits no more. Where the lock was not granted, the wake-up that the waiter may have
// had is passed on.
func (one *waiter) leave(granted bool) {
	w, c := one.all, one.on
	w.mu.Lock()
	defer w.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(o *waiter) bool { return o == one })
	if len(c.waiting) == 0 {
		c.hangUp()
		delete(w.channels, c.name)
	} else if !granted {
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

// pause is how long a connection that broke is left alone.
const pause = 100 * time.Millisecond

// listen receives messages until ctx is done.
func (w *waiters) listen(ctx context.Context, c *channel) {
	sub := w.client.Subscribe(ctx)
	var closing sync.WaitGroup
	closing.Add(1)
	context.AfterFunc(ctx, func() { sub.Close(); closing.Done() })
	defer closing.Wait()
	_ = sub.Subscribe(ctx, c.name) // where it fails, Receive does it again
	for ctx.Err() == nil {
		news, err := sub.Receive(ctx)
		if err != nil {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		}
		w.hear(c, news)
	}
}

// hear wakes all where messages may have been missed before, and else whom the message is
// for.
func (w *waiters) hear(c *channel, news any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch news := news.(type) {
	case *redis.Subscription:
		c.confirmed = true
		for _, one := range c.waiting {
			one.wake()
		}
	case *redis.Message:
		c.message(news.Payload)
	}
}

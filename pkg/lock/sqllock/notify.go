package sqllock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Listen listens to a channel of PostgreSQL, by LISTEN, until ctx is done or the connection
// breaks. It calls got with "" when it has begun to listen, and with the payload of each
// notification.
type Listen func(ctx context.Context, channel string, got func(payload string)) error

// Notify has waiters be told at once when a lock becomes free. database/sql knows no
// notifications, so the program lends those of its driver:
//
//	func listen(ctx context.Context, channel string, got func(string)) error {
//		conn, err := pgx.Connect(ctx, address)
//		if err != nil {
//			return err
//		}
//		defer conn.Close(context.WithoutCancel(ctx))
//		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
//			return err
//		}
//		for got(""); ; {
//			news, err := conn.WaitForNotification(ctx)
//			if err != nil {
//				return err
//			}
//			got(news.Payload)
//		}
//	}
//
// A Backend listens only while one of its attempts waits, and has one connection for all of
// them. Its Unlock sends a notification in the statement that frees the lock. Locks that
// become free in another way, because a lease ends or because the holder's Backend has no such
// option, are found as without it: the option Poll says how soon. PostgreSQL commits the
// transactions of a database that send notifications one after the other.
//
// The channel has the table's name. Notify is for PostgreSQL, and not for Spring.
func Notify(listen Listen) Option { return func(o *options) { o.listen = listen } }

// longestChannel is how many bytes the name of a channel may have in PostgreSQL.
const longestChannel = 63

func (o options) checkNotify(d Dialect, f format) error {
	switch {
	case o.listen == nil:
		return nil
	case d != PostgreSQL || f.prefix != "":
		return fence.Definite.New("sqllock: Notify is for New with PostgreSQL")
	case len(o.table) > longestChannel:
		return fence.Definite.New(fmt.Sprintf("sqllock: Notify wants the name of a table in %d bytes, %q has %d", longestChannel, o.table, len(o.table)))
	}
	return nil
}

// bells tell waiters that a lock may be free. A nil *bells tells nobody.
type bells struct {
	listen  Listen
	channel string

	mu      sync.Mutex
	waiting map[string][]*bell // by the key of the row
	hangUp  context.CancelFunc // is there while somebody waits
}

// bell is a waiter's.
type bell struct {
	all  *bells
	key  string
	rung chan struct{}
}

func newBells(o options) *bells {
	if o.listen == nil {
		return nil
	}
	return &bells{listen: o.listen, channel: o.table, waiting: make(map[string][]*bell)}
}

// join begins to wait for the lock of a row.
func (all *bells) join(key string) *bell {
	if all == nil {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.waiting) == 0 {
		var ctx context.Context
		ctx, all.hangUp = context.WithCancel(context.Background())
		go all.hear(ctx)
	}
	b := &bell{all, key, make(chan struct{}, 1)}
	all.waiting[key] = append(all.waiting[key], b)
	return b
}

// pauseToListen is how long a connection that broke is left alone.
const pauseToListen = 100 * time.Millisecond

// hear listens until ctx is done. Where that fails, waiters look at the lock now and then.
func (all *bells) hear(ctx context.Context) {
	for {
		_ = all.listen(ctx, all.channel, all.got)
		if attempt.Sleep(ctx, pauseToListen) != nil {
			return
		}
	}
}

// got rings for one waiter of the lock that is free. Others would only find it taken. When
// listening begins, any lock may have become free.
func (all *bells) got(key string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if key != "" {
		all.ring(key)
		return
	}
	for key := range all.waiting {
		all.ring(key)
	}
}

// ring is called with all.mu held.
func (all *bells) ring(key string) {
	if waiting := all.waiting[key]; len(waiting) > 0 {
		select {
		case waiting[0].rung <- struct{}{}:
		default: // it has not looked since it was rung before
		}
	}
}

// news has an element when the lock may be free.
func (b *bell) news() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.rung
}

// leave waits no more. Where the lock was not granted, the next one is rung: it may have been
// this one's turn.
func (b *bell) leave(granted bool) {
	if b == nil {
		return
	}
	all := b.all
	all.mu.Lock()
	defer all.mu.Unlock()
	all.waiting[b.key] = slices.DeleteFunc(all.waiting[b.key], func(other *bell) bool { return other == b })
	if len(all.waiting[b.key]) == 0 {
		delete(all.waiting, b.key)
	}
	switch {
	case len(all.waiting) == 0:
		all.hangUp()
	case !granted:
		all.ring(b.key)
	}
}

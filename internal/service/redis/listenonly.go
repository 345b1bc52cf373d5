package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// listenOnly takes its lock as setNXPX does. Whoever waits asks again when a message says
// that the lock was released, and at no other time: where no message comes it waits for ever.
var listenOnly = recipe{
	name: "listen-only", shows: noToken, listens: true,
	about: "SET with NX and PX; who waits asks again only when the unlock of the holder has sent a message.",
	take:  setNXPX.take,
}

// channelOf is where the unlock of a lock is told.
func channelOf(lock string) string { return "fencelab_free:{" + lock + "}" }

// listen hears of unlocks from its return on. Where the recipe does not listen it hears
// nothing.
func (w *asking) listen(ctx context.Context) (news <-chan *redis.Message, hangUp func(), err error) {
	if !w.recipe.listens {
		return nil, func() {}, nil
	}
	sub := w.nodes[0].Subscribe(ctx, channelOf(w.scope))
	hangUp = func() { sub.Close() }
	if _, err := sub.Receive(ctx); err != nil { // Redis has confirmed it
		hangUp()
		return nil, nil, err
	}
	return sub.Channel(), hangUp, nil
}

// pause is over when a client is to ask again by itself; nil: never.
func (r *recipe) pause() <-chan time.Time {
	if r.listens {
		return nil
	}
	return time.After(retry)
}

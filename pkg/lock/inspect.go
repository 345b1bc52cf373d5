package lock

import (
	"context"
	"strings"
	"time"
)

// Inspector is a Backend that tells who holds a lock.
// Find it by assertion: b.(lock.Inspector).
type Inspector interface {
	// Inspect asks the service who holds the lock of scope and who waits for it, and
	// changes nothing. The answer is for people: when they read it, another may hold the
	// lock. Nobody holds a lock that was never taken.
	Inspect(ctx context.Context, scope string) (State, error)
}

// State is who held a lock, and who waited for it, when the lock service was asked.
type State struct {
	Holders []Party // of which only the first can be exclusive
	// Queue says that the service knows who waits. Otherwise Waiters is empty, whoever
	// waits.
	Queue   bool
	Waiters []Party // in the order in which they came
}

// Party is one that holds a lock, or waits for it.
type Party struct {
	// Grant is a holder's, as the service tells it, and a waiter's to be. A token of 0 was
	// not told.
	Grant
	Words string // its own, by WithWords; "": it gave none, or the service keeps none
	// Left is how long the lease lasts if the holder does not renew it, by the service's
	// clock. 0: it was not told.
	Left time.Duration
}

// MaxWords is how many bytes of a holder's words are kept.
const MaxWords = 200

// WithWords returns a context in which Lock, TryLock, RLock and TryRLock give the service
// words of the holder, such as "web7, nightly backup". An Inspector tells them. They are for
// people, and the lock is granted with or without them.
//
// Whoever can read the lock service can read the words: they are no place for secrets. What
// is no UTF-8, and a zero byte, is replaced. Of longer words the first MaxWords bytes are kept.
func WithWords(ctx context.Context, words string) context.Context {
	words = strings.ReplaceAll(strings.ToValidUTF8(words, "\uFFFD"), "\x00", "\uFFFD")
	if len(words) > MaxWords {
		words = strings.ToValidUTF8(words[:MaxWords], "") // a character that was cut is left out
	}
	return context.WithValue(ctx, wordsKey{}, words)
}

// Words returns the words that a context of WithWords has, for a Backend to keep them.
func Words(ctx context.Context) string {
	words, _ := ctx.Value(wordsKey{}).(string)
	return words
}

type wordsKey struct{}

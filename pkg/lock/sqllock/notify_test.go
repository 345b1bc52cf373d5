package sqllock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// rung reports whether a bell has rung, and has it ready to ring again.
func rung(b *bell) bool {
	synctest.Wait()
	select {
	case <-b.news():
		return true
	default:
		return false
	}
}

// TestBells: who has waited longest for a lock is told of it; one who gives up tells the next
// one; and where messages may have been missed each lock may be free.
func TestBells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, breaks := make(chan struct{}), make(chan error) // asked: all wait
		var listens int
		all := newBells(options{listen: func(ctx context.Context, channel string, got func(string)) error {
			if listens++; channel != "locks" {
				t.Errorf("it listens to %q", channel)
			}
			<-asked
			got("")
			select {
			case err := <-breaks:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}, table: "locks"})
		first, second, other := all.join("a"), all.join("a"), all.join("b")
		close(asked)
		if !rung(first) || rung(second) || !rung(other) {
			t.Error("when listening began, not one of each lock was told")
		}
		all.got("a")
		if !rung(first) || rung(second) || rung(other) {
			t.Error("not the first one alone was told of its lock")
		}
		first.leave(false)
		if !rung(second) {
			t.Error("nobody was told by the one who gave up")
		}
		breaks <- errors.New("broken")
		if rung(second) {
			t.Error("a connection that broke is not left alone")
		}
		<-time.After(pauseToListen)
		if !rung(second) || !rung(other) || listens != 2 {
			t.Errorf("after the connection broke, it listens %d times", listens)
		}
		third := all.join("a")
		second.leave(true)
		if rung(third) {
			t.Error("one is told of a lock that was granted")
		}
		third.leave(false)
		other.leave(false)
		<-time.After(pauseToListen)
		if synctest.Wait(); listens != 2 {
			t.Error("it listens for nobody")
		}
		if again := all.join("a"); !rung(again) || listens != 3 {
			t.Error("it does not listen again")
		} else {
			again.leave(true)
		}
	})
}

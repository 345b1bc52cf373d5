package zookeeper

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
)

// words are events in short: their kinds and tenures.
func words(events []history.Event) (list []string) {
	for _, e := range events {
		list = append(list, string(e.Kind)+" "+e.Tenure)
	}
	return list
}

func want(t *testing.T, when string, got []history.Event, want ...string) {
	t.Helper()
	if !slices.Equal(words(got), want) {
		t.Errorf("%s: got %q, want %q", when, words(got), want)
	}
}

// TestQueue: the first holds the lock, and the next one when it has gone.
func TestQueue(t *testing.T) {
	q := newQueue("/lock")
	want(t, "a comes", q.enter(watch.Node{Name: "a-lock-0000000007", Czxid: 3}), "granted a-lock-0000000007")
	want(t, "b comes", q.enter(watch.Node{Name: "b-lock-0000000008", Czxid: 4}), "queued b-lock-0000000008")
	want(t, "c comes", q.enter(watch.Node{Name: "c-lock-0000000009", Czxid: 6}), "queued c-lock-0000000009")
	want(t, "b gives up", q.leave("b-lock-0000000008"), "ended b-lock-0000000008")
	want(t, "a goes", q.leave("a-lock-0000000007"), "ended a-lock-0000000007", "granted c-lock-0000000009")
}

// TestQueueOfReaders: they share the lock with each other, and not with a writer.
func TestQueueOfReaders(t *testing.T) {
	q := newQueue("/lock")
	want(t, "a reader", q.enter(watch.Node{Name: "r1-__READ__0", Czxid: 1}), "granted r1-__READ__0")
	want(t, "another", q.enter(watch.Node{Name: "r2-__READ__1", Czxid: 2}), "granted r2-__READ__1")
	want(t, "a writer", q.enter(watch.Node{Name: "w-__WRIT__2", Czxid: 3}), "queued w-__WRIT__2")
	want(t, "a reader behind it", q.enter(watch.Node{Name: "r3-__READ__3", Czxid: 4}), "queued r3-__READ__3")
	want(t, "one goes", q.leave("r1-__READ__0"), "ended r1-__READ__0")
	want(t, "the other goes", q.leave("r2-__READ__1"), "ended r2-__READ__1", "granted w-__WRIT__2")
	want(t, "the writer goes", q.leave("w-__WRIT__2"), "ended w-__WRIT__2", "granted r3-__READ__3")
}

// TestQueueHearsTwice: what another member tells as well, and later, is nothing new.
func TestQueueHearsTwice(t *testing.T) {
	q := newQueue("/lock")
	n := watch.Node{Name: "a-lock-0", Czxid: 3}
	want(t, "it comes", q.enter(n), "granted a-lock-0")
	want(t, "it comes again", q.enter(n))
	want(t, "it goes", q.leave(n.Name), "ended a-lock-0")
	want(t, "it goes again", q.leave(n.Name))
	want(t, "it comes late", q.enter(n))
}

// TestQueueIsReadAgain: what is there after a transaction says who has come and gone
// meanwhile, and nothing of those who came later.
func TestQueueIsReadAgain(t *testing.T) {
	q := newQueue("/lock")
	gone, stays, late := watch.Node{Name: "a-lock-0", Czxid: 3}, watch.Node{Name: "b-lock-1", Czxid: 5}, watch.Node{Name: "c-lock-2", Czxid: 9}
	q.enter(gone)
	q.enter(late)
	want(t, "read again", q.compare([]watch.Node{stays}, 7), "queued b-lock-1", "ended a-lock-0", "granted b-lock-1")
}

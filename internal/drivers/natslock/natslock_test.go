package natslock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/natslock"
)

// join is a backend with a connection of its own, through a network of its own.
func join(t *testing.T, addr string, ttl time.Duration) (*natslock.Backend, *network.Link) {
	t.Helper()
	link, err := network.NewGreeted(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	js, end, err := dial(link.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	b, err := natslock.New(bounded(t), js, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return b, link
}

// TestRefuses: what New cannot use, each with what to do.
func TestRefuses(t *testing.T) {
	ctx := bounded(t)
	js, end, err := dial(start(t, 1).Members[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "plain"}); err != nil {
		t.Fatal(err)
	}
	for want, tt := range map[string]struct {
		ttl    time.Duration
		option natslock.Option
	}{
		"want whole seconds, 1s or more": {1500 * time.Millisecond, natslock.Bucket("plain")},
		"see Create":                     {time.Second, natslock.Bucket("nowhere")},
		"made without LimitMarkerTTL":    {time.Second, natslock.Bucket("plain")},
	} {
		if _, err := natslock.New(ctx, js, tt.ttl, tt.option); err == nil || !strings.Contains(err.Error(), want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v, want %q, and that nothing was done", err, want)
		}
	}
	b, err := natslock.New(ctx, js, ttl)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"", strings.Repeat("x", 1001)} {
		if _, err := b.TryLock(ctx, scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("a scope of %d bytes: %v", len(scope), err)
		}
	}
	for _, scope := range []string{" ", ".", "a.b", "*", ">", "é\x00", "=2E", strings.Repeat("*", 1000)} {
		tenure, err := b.TryLock(ctx, scope)
		if err != nil {
			t.Errorf("%q: %v", scope, err)
		} else if err := tenure.Unlock(ctx); err != nil {
			t.Errorf("%q: %v", scope, err)
		}
	}
}

// TestLateRequestTakesNothing: a request that is on its way for longer than its caller waits finds that the key has
// changed.
func TestLateRequestTakesNothing(t *testing.T) {
	addr := start(t, 1).Members[0].Addr
	a, link := join(t, addr, long)
	b, _ := join(t, addr, long)
	link.Tx.Shut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := a.TryLock(ctx, scope)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a network TryLock returned %v, want that its outcome is unknown", err)
	}
	first, err := b.Lock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	link.Tx.Open() // what waits goes on, in its order
	if _, err := a.TryLock(bounded(t), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock returned %v, want that the other one holds the lock", err)
	}
	if err := first.Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
	second, err := a.Lock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	if second.Grant().Token <= first.Grant().Token {
		t.Errorf("token %d after %d", second.Grant().Token, first.Grant().Token)
	}
}

// behind is a client that loses the answer to one request for a lock, and then reads once what an entry was before.
type behind struct {
	jetstream.JetStream
	old  *jetstream.RawStreamMsg
	lose bool
}

func (b *behind) PublishMsg(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := b.JetStream.PublishMsg(ctx, m, options...)
	if err == nil && b.lose {
		b.lose = false
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

func (b *behind) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := b.JetStream.Stream(ctx, name)
	return behindStream{stream, b}, err
}

type behindStream struct {
	jetstream.Stream
	of *behind
}

func (s behindStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if old := s.of.old; old != nil && !s.of.lose {
		s.of.old = nil
		return old, nil
	}
	return s.Stream.GetLastMsgForSubject(ctx, subject)
}

// TestOldEntryHidesNothing: an attempt whose answer is lost leaves no key, also where a server is behind and still has the
// entry of the holder before.
func TestOldEntryHidesNothing(t *testing.T) {
	addr := start(t, 1).Members[0].Addr
	other, _ := join(t, addr, long)
	js, end, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	client := &behind{JetStream: js}
	b, err := natslock.New(bounded(t), client, long)
	if err != nil {
		t.Fatal(err)
	}
	before, err := other.TryLock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(bounded(t), "KV_fence-locks")
	if err != nil {
		t.Fatal(err)
	}
	if client.old, err = stream.GetLastMsgForSubject(bounded(t), "$KV.fence-locks."+scope); err != nil {
		t.Fatal(err)
	}
	if err := before.Unlock(bounded(t)); err != nil {
		t.Fatal(err)
	}
	client.lose = true
	if _, err := b.TryLock(bounded(t), scope); !errors.Is(err, context.DeadlineExceeded) || client.lose || client.old != nil {
		t.Fatalf("TryLock returned %v, want that its answer was lost and an old entry was read", err)
	}
	if _, err := other.TryLock(bounded(t), scope); err != nil {
		t.Errorf("after an attempt that was given up TryLock returned %v", err)
	}
}

// TestLostAnswer: a tenure goes on where the answer to a renewal is lost, and an unlock whose answer is lost is unknown.
func TestLostAnswer(t *testing.T) {
	addr := start(t, 1).Members[0].Addr
	const lease = 3 * time.Second
	a, link := join(t, addr, lease)
	tenure, err := a.Lock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	went := make(chan error, 100)
	tenure.(lock.Renewer).OnRenewal(func(_ time.Duration, err error) { went <- err })
	link.Rx.Shut()
	time.AfterFunc(lease/2, link.Rx.Open)
	for renewed := 0; renewed < 2; {
		select {
		case err := <-went:
			if err == nil {
				renewed++
			}
		case <-tenure.Done():
			t.Fatalf("the tenure ended: %v", tenure.Err())
		case <-bounded(t).Done():
			t.Fatal("no renewal came")
		}
	}
	link.Rx.Shut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	unknown := new(lock.UnknownError)
	if err := tenure.Unlock(ctx); !errors.As(err, &unknown) {
		t.Errorf("Unlock without an answer returned %v, want that its outcome is unknown", err)
	}
	b, _ := join(t, addr, lease)
	next, err := b.Lock(bounded(t), scope)
	if err != nil || next.Grant().Token <= tenure.Grant().Token {
		t.Errorf("the next one got %+v, %v", next, err)
	}
}

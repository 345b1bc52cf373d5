// Package fencenats_test has the tests of fencenats that need a server.
package fencenats_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc/natstest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencenats"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

func TestMain(m *testing.M) {
	proctest.Play(natsproc.Command(), proc.Janitor())
	os.Exit(m.Run())
}

const deadline = time.Minute // for what is sure to happen

// start starts servers, and returns a client that knows them all.
func start(t *testing.T, members int) (*natsproc.Cluster, jetstream.JetStream) {
	t.Helper()
	natstest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	c, err := natsproc.Start(ctx, proctest.Group(t), natsproc.Config{Members: members})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect("nats://"+strings.Join(proc.Endpoints(c.Members), ",nats://"), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return c, js
}

// subject makes stores, each a bucket.
func subject(js jetstream.JetStream, replicas int) fencetest.Subject {
	open := func(ctx context.Context, name string, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		if err := fencenats.Create(ctx, js, name, replicas); err != nil {
			return nil, err
		}
		s, err := fencenats.New(ctx, js, name)
		if err != nil {
			return nil, err
		}
		s.Bound = bound
		return drivertest.Document{Name: name, Change: s.Do, Look: s.Read}, nil
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return open(ctx, rand.Text(), nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(ctx, rand.Text(), func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			return open(ctx, s.(drivertest.Document).Name, nil)
		},
		Fail: drivertest.FailDocument,
		Idle: time.Second,
	}
}

func TestLaws(t *testing.T) {
	c, js := start(t, 1)
	s := subject(js, 1)
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		return old, errors.Join(c.Members[0].Process().Kill(), c.Members[0].Restart(ctx), reached(ctx, old))
	}
	fencetest.Run(t, s)
}

// reached returns when a store answers again.
func reached(ctx context.Context, s fencetest.Store) (err error) {
	for {
		if _, _, err = s.Read(ctx, fence.Claim{Scope: "/scope"}, "key"); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// TestLawsOfServers: three servers, of which any may answer a read, and the one that leads is killed.
func TestLawsOfServers(t *testing.T) {
	need.Night(t, "to wait for elections")
	c, js := start(t, 3)
	s := subject(js, 3)
	s.Marks = 100
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		leader, err := c.Leader(ctx)
		if err != nil {
			return nil, err
		}
		return old, errors.Join(leader.Process().Kill(), leader.Restart(ctx), reached(ctx, old))
	}
	fencetest.Run(t, s)
}

// TestEntry: the data are the value of the key, for all clients of NATS, and the mark outlives them.
func TestEntry(t *testing.T) {
	ctx := t.Context()
	_, js := start(t, 1)
	if err := fencenats.Create(ctx, js, "orders", 1); err != nil {
		t.Fatal(err)
	}
	s, err := fencenats.New(ctx, js, "orders")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := js.KeyValue(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		claim fence.Claim
		data  []byte
		want  fence.Mark
	}{
		{fence.Claim{Scope: "a", Token: 7, Mode: fence.Shared}, []byte("one"), fence.Mark{Shared: 7}},
		{fence.Claim{Scope: "a", Token: 9007199254740993, Sequence: 3}, []byte{}, fence.Mark{Token: 9007199254740993, Sequence: 3}},
		{fence.Claim{Scope: "a", Token: 9007199254740993}, nil, fence.Mark{Token: 9007199254740993, Sequence: 3}},
	} {
		if err := s.Do(ctx, step.claim, func([]byte) ([]byte, error) { return step.data, nil }); err != nil {
			t.Fatal(err)
		}
		data, mark, err := s.Read(ctx, "a")
		if err != nil || string(data) != string(step.data) || (data == nil) != (step.data == nil) || mark != step.want {
			t.Errorf("%+v: %q, %+v, %v", step.claim, data, mark, err)
		}
		e, err := plain.Get(ctx, "a")
		if step.data == nil && !errors.Is(err, jetstream.ErrKeyNotFound) || step.data != nil && (err != nil || string(e.Value()) != string(step.data)) {
			t.Errorf("%+v: a plain Get has %v, %v", step.claim, e, err)
		}
	}
}

// TestErrors: each says what is wrong, and that nothing was done.
func TestErrors(t *testing.T) {
	ctx := t.Context()
	_, js := start(t, 1)
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s: got %v, want an error that is definite and says %q", what, err, want)
		}
	}
	_, err := fencenats.New(ctx, js, "nowhere")
	refused("no bucket", err, "there is no bucket nowhere")
	brief, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "brief", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fencenats.New(ctx, js, brief.Bucket())
	refused("a TTL", err, "the bucket brief has a TTL")
	if err := fencenats.Create(ctx, js, "orders", 1); err != nil {
		t.Fatal(err)
	}
	s, err := fencenats.New(ctx, js, "orders")
	if err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("$KV.orders.a")
	m.Header.Set("Fence-Mark", "none")
	if _, err := js.PublishMsg(ctx, m); err != nil {
		t.Fatal(err)
	}
	keep := func(data []byte) ([]byte, error) { return data, nil }
	refused("another one's mark", s.Do(ctx, fence.Claim{Scope: "a", Token: 1}, keep), `the key a has the mark "none"`)
	refused("no scope", s.Do(ctx, fence.Claim{Token: 1}, keep), "want 1 to 1000")
	big := func([]byte) ([]byte, error) { return make([]byte, 2<<20), nil }
	if err := s.Do(ctx, fence.Claim{Scope: "b", Token: 1}, big); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("data that are too large: %v", err)
	}
}

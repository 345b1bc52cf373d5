package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	ttl   = time.Second
	scope = "/lock"
	long  = time.Minute // a TTL for tests in which nothing is to expire
)

// kind is a way to make a backend, and what its laws are.
type kind struct {
	name    string
	backend func(redis.UniversalClient) (lock.Backend, error)
	subject locktest.Subject
}

// party is one client of a server, by a link of its own.
type party struct {
	lock.Backend
	client *redis.Client
	link   *network.Link
}

func (p party) cut()  { p.link.Tx.Shut(); p.link.Rx.Shut() }
func (p party) mend() { p.link.Tx.Open(); p.link.Rx.Open() }

func (p party) close() {
	p.client.Close()
	p.link.Close()
}

// open makes a client whose requests end soon where nobody answers.
func open(addr string, make func(redis.UniversalClient) (lock.Backend, error)) (party, error) {
	link, err := network.New(addr)
	if err != nil {
		return party{}, err
	}
	client := redis.NewClient(&redis.Options{Addr: link.Addr(), ReadTimeout: ttl / 2, MaxRetries: -1})
	b, err := make(client)
	return party{b, client, link}, err
}

func join(t *testing.T, s *redisproc.Server, make func(redis.UniversalClient) (lock.Backend, error)) party {
	t.Helper()
	p, err := open(s.Addr, make)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// own is the package's own lock, with a TTL.
func own(ttl time.Duration, some ...redislock.Option) func(redis.UniversalClient) (lock.Backend, error) {
	return func(c redis.UniversalClient) (lock.Backend, error) { return redislock.New(c, ttl, some...) }
}

func (p party) take(t *testing.T) lock.Tenure {
	t.Helper()
	tenure, err := p.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

// result is what a call returned that took a lock in the background.
type result struct {
	tenure lock.Tenure
	err    error
}

func inBackground(ctx context.Context, take func(context.Context, string) (lock.Tenure, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, redistest.Deadline)
		defer cancel()
		tenure, err := take(ctx, scope)
		c <- result{tenure, err}
	}()
	return c
}

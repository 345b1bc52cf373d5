package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

func TestMain(m *testing.M) {
	proctest.SideBySide(16)
	redistest.Main(m)
}

const (
	ttl   = time.Second
	scope = "/lock"
	long  = time.Minute // a TTL for tests in which nothing is to expire

	// renewed is a TTL for tests in which a renewal is to be answered in time, on a busy machine, too.
	renewed = 9 * time.Second
)

// kind is a way to make a backend, and what its laws are.
type kind struct {
	name    string
	backend func(redis.UniversalClient) (lock.Backend, error)
	subject locktest.Subject
}

// party is one client of a server.
type party struct {
	lock.Backend
	client *redis.Client
}

// join connects a client whose requests end soon where nobody answers.
func join(t *testing.T, s *redisproc.Server, make func(redis.UniversalClient) (lock.Backend, error)) party {
	t.Helper()
	client := connect(s.Addr)
	t.Cleanup(func() { client.Close() })
	b, err := make(client)
	if err != nil {
		t.Fatal(err)
	}
	return party{b, client}
}

func connect(addr string) *redis.Client { return redis.NewClient(options(addr)) }

func options(addr string) *redis.Options {
	return &redis.Options{Addr: addr, ReadTimeout: ttl, DialerRetries: 1, MaxRetries: -1}
}

// own is the package's own lock, with a TTL.
func own(ttl time.Duration, some ...redislock.Option) func(redis.UniversalClient) (lock.Backend, error) {
	return func(c redis.UniversalClient) (lock.Backend, error) { return redislock.New(c, ttl, some...) }
}

// pipelined makes backends by a client whose concurrent calls share requests.
func pipelined(make func(redis.UniversalClient) (lock.Backend, error)) func(redis.UniversalClient) (lock.Backend, error) {
	return func(c redis.UniversalClient) (lock.Backend, error) {
		shared, err := c.AutoPipeline()
		if err != nil {
			return nil, err
		}
		return make(shared)
	}
}

func (p party) take(t *testing.T) lock.Tenure {
	t.Helper()
	return granted(t, p.Lock)
}

// granted takes a lock that is free. The tenure ends with the test.
func granted(t *testing.T, take func(context.Context, string) (lock.Tenure, error)) lock.Tenure {
	t.Helper()
	tenure, err := take(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, tenure)
	return tenure
}

func endWith(t *testing.T, tenure lock.Tenure) {
	t.Cleanup(func() { _ = tenure.Unlock(context.Background()) }) // which may be over
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

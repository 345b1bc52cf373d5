package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func Example() {
	var (
		service  = locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
		marks    fence.Register                    // kept by the resource, beside its data
		resource = make(map[string]string)
	)
	err := lock.Do(context.Background(), service.Open(), "/orders", func(ctx context.Context, g lock.Grant) error {
		return marks.Do(ctx, g.Claim(), func(context.Context) error {
			resource["order"] = "paid"
			return nil
		})
	})
	fmt.Println(err, resource["order"], marks.Mark("/orders").Token)
	// Output: <nil> paid 1
}

// A holder is paused after the grant for so long that a second one takes over,
// writes, and is done. The first one's write is refused by the resource.
func Example_paused() {
	var (
		ctx     = context.Background()
		service = locktest.NewMemory(time.Millisecond)
		paused  = service.Open()
		marks   fence.Register
	)
	write := func(context.Context) error { return nil }

	err := lock.Do(ctx, paused, "/orders", func(_ context.Context, g lock.Grant) error {
		paused.Crash()
		defer paused.Wake()
		err := lock.Do(ctx, service.Open(), "/orders", func(_ context.Context, g lock.Grant) error {
			return marks.Do(ctx, g.Claim(), write)
		})
		fmt.Println("second:", err)
		return marks.Do(ctx, g.Claim(), write)
	})
	fmt.Println("first:", err)
	// Output:
	// second: <nil>
	// first: fence: stale token: 1 in scope "/orders" is older than the highest admitted, 2; locktest: unlock "/orders", token 1: lock: tenure is over
}

// A leader whose term ends without its knowledge: the next term's token is higher, and the
// resource refuses what still comes from the term before.
func ExampleLead() {
	var (
		service = locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
		marks   fence.Register                    // kept by the resource, beside its data
		plan    string
		before  lock.Grant
	)
	write := func(ctx context.Context, g lock.Grant, text string) error {
		return marks.Do(ctx, g.Claim(), func(context.Context) error { plan = text; return nil })
	}
	err := lock.Lead(context.Background(), service.Open(), "/scheduler", func(ctx context.Context, g lock.Grant) error {
		if g.Token == 1 {
			before = g
			service.Revoke(g) // as an operator could, or the end of a lease
			<-ctx.Done()      // whoever leads stops here; Lead stands again
			return ctx.Err()
		}
		if err := write(ctx, g, fmt.Sprint("the plan of term ", g.Token)); err != nil {
			return err
		}
		fmt.Println("term 1 writes once more:", write(ctx, before, "the plan of term 1"))
		return nil // the work is done
	})
	fmt.Println(plan, err)
	// Output:
	// term 1 writes once more: fence: stale token: 1 in scope "/scheduler" is older than the highest admitted, 2
	// the plan of term 2 <nil>
}

// Two workers at a time, each with a file of its own. The fence is one for each file.
func ExamplePermits() {
	var (
		ctx     = context.Background()
		service = locktest.NewMemory(time.Second)
		workers = lock.Permits(service.Open(), 2)
		marks   fence.Register // one mark for each slot
		files   = make(map[string]string)
	)
	write := func(g lock.Grant, text string) error {
		return marks.Do(ctx, g.Claim(), func(context.Context) error { files[g.Scope] = text; return nil })
	}
	one, err := workers.Lock(ctx, "/workers")
	if err != nil {
		panic(err)
	}
	two, err := workers.Lock(ctx, "/workers")
	if err != nil {
		panic(err)
	}
	_, err = workers.TryLock(ctx, "/workers")
	fmt.Println(err)
	fmt.Println(write(one.Grant(), "one"), write(two.Grant(), "two")) // nobody refuses the other

	service.Revoke(one.Grant()) // it is not told yet
	three, err := workers.Lock(ctx, "/workers")
	if err != nil {
		panic(err)
	}
	fmt.Println(three.Grant().Scope == one.Grant().Scope, write(three.Grant(), "three"))
	fmt.Println(write(one.Grant(), "one, late") != nil, files[one.Grant().Scope], files[two.Grant().Scope])
	// Output:
	// lock: 2 permits of "/workers": lock: locked by another tenure
	// <nil> <nil>
	// true <nil>
	// true three two
}

// A holder of a fixed lease, which nothing renews, makes the lease longer before the next piece of
// its work. Once the lease is over Extend makes nothing longer: a successor may have the lock.
func ExampleExtender() {
	ctx := context.Background()
	service := locktest.NewFixedLease(time.Minute) // or redislock.New(client, time.Minute, redislock.FixedLease())
	tenure, err := service.Open().Lock(ctx, "/orders")
	if err != nil {
		panic(err)
	}
	lease := tenure.(lock.Extender)
	fmt.Println(lease.Extend(ctx, time.Hour), time.Until(lease.Until()) > time.Minute)
	service.Revoke(tenure.Grant()) // as an operator could
	fmt.Println(errors.Is(lease.Extend(ctx, time.Hour), lock.ErrLost))
	// Output:
	// <nil> true
	// true
}

// A holder whose lock is renewed has it outlast a step in which nothing can be renewed: a pause, or a
// time without the network. The fence keeps out what comes later still.
func ExampleExtensible() {
	ctx := context.Background()
	service := locktest.NewMemory(50 * time.Millisecond) // or redislock.New(client, 10*time.Second)
	client := service.Open()
	tenure, err := client.Lock(ctx, "/orders")
	if err != nil {
		panic(err)
	}
	fmt.Println(tenure.(lock.Extensible).Extend(ctx, time.Hour))
	client.Crash() // from now on no renewal reaches the service
	select {
	case <-tenure.Done():
		fmt.Println("lost after the TTL, for which a renewal lasts")
	case <-time.After(200 * time.Millisecond):
		fmt.Println("held")
	}
	// Output:
	// <nil>
	// held
}

// restarting is a lock service that is away when it is asked first.
type restarting struct {
	lock.Backend
	asked int
}

func (r *restarting) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	if r.asked++; r.asked == 1 {
		return nil, fence.Definite.New("connection refused")
	}
	return r.Backend.Lock(ctx, scope)
}

// A lock service that is started again is a wait, and no error.
func ExampleRetry() {
	service := &restarting{Backend: locktest.NewMemory(time.Second).Open()}
	backend := lock.Retry(service, time.Minute)
	err := lock.Do(context.Background(), backend, "/orders", func(context.Context, lock.Grant) error { return nil })
	fmt.Println(service.asked, err)
	// Output: 2 <nil>
}

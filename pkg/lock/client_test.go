package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// A transport that takes the token from the context of Do: nothing between the lock and the
// request has to hand it on. Only the host that it names gets it.
func Example_context() {
	var marks fence.Register
	server := httptest.NewServer(fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" },
	})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fmt.Println("token", r.Header.Get("Fencing-Token")) })))
	defer server.Close()

	web := &http.Client{Transport: &fencehttp.Transport{Scope: func(r *http.Request) string {
		if "http://"+r.URL.Host == server.URL {
			return "/orders"
		}
		return ""
	}}}
	pay := func(ctx context.Context) error { // knows nothing of locks
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
		if err != nil {
			return err
		}
		resp, err := web.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	backend := locktest.NewMemory(time.Second).Open()
	fmt.Println(lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, _ lock.Grant) error {
		return pay(ctx)
	}))
	// Output:
	// token 1
	// <nil>
}

// put sends a request that shows the claim. Transport makes an error of a refusal.
func put(ctx context.Context, url string, c fence.Claim) error {
	client := &http.Client{Transport: &fencehttp.Transport{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	if err != nil {
		return err
	}
	fencehttp.SetClaim(req.Header, c)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A client that sends its token with each request, and learns by the answer that it is
// not the holder any more.
func Example_client() {
	var marks fence.Register
	orders := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" },
	})(orders))
	defer server.Close()

	backend := locktest.NewMemory(time.Second).Open() // or etcdlock.New(client, 10*time.Second)
	var old lock.Grant
	for range 2 {
		err := lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
			if old.Token == 0 {
				old = g
			}
			return put(ctx, server.URL, g.Claim())
		})
		fmt.Println(err)
	}
	err := put(context.Background(), server.URL, old.Claim())
	fmt.Println(errors.Is(err, fence.ErrStale), fence.OutcomeOf(err))
	// Output:
	// <nil>
	// <nil>
	// true definite
}

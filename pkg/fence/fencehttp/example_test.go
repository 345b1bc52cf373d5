package fencehttp_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Two holders of the lock "/orders", the later one first.
func Example() {
	state := "open"
	orders := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { state = "paid" })

	// The service: it, and no client, says which lock guards the orders.
	var marks fence.Register
	fenced := fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" },
	})
	srv := httptest.NewServer(fenced(orders))
	defer srv.Close()

	// Its clients.
	client := &http.Client{Transport: &fencehttp.Transport{}}
	pay := func(token fence.Token) error {
		req, err := http.NewRequest(http.MethodPut, srv.URL+"/7", strings.NewReader("paid"))
		if err != nil {
			return err
		}
		fencehttp.SetClaim(req.Header, fence.Claim{Scope: "/orders", Token: token})
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := pay(34); err != nil {
		log.Fatal(err)
	}
	err := pay(33)
	fmt.Println(state, errors.Is(err, fence.ErrStale))
	// Output: paid true
}

// Command core uses each package of core: a handler that is guarded refuses the first
// holder of a lock when it has served the second.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/observe"
)

func main() {
	var marks fence.Register
	guarded := fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" },
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	put := func(c fence.Claim) int {
		r := httptest.NewRequest(http.MethodPut, "/orders", nil)
		fencehttp.SetClaim(r.Header, c)
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		return w.Code
	}
	client := locktest.NewMemory(time.Second).Open()
	backend := lock.Observe(client.Backend, observe.NewLog(slog.Default()))
	var first lock.Grant
	for range 2 {
		err := lock.Do(context.Background(), backend, "/orders", func(_ context.Context, g lock.Grant) error {
			if first.Token == 0 {
				first = g
			}
			fmt.Println(put(g.Claim()))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(put(first.Claim()))
	fmt.Println(len(fencetest.Laws) > 0)
}

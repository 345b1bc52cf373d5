package fencelab_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// README shows the bodies of these functions; TestReadmeIsCompiled holds it to
// them.

func service(orders http.Handler) http.Handler {
	var marks fence.Register
	return fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" }, // the lock that guards them
	})(orders)
}

func client(ctx context.Context, etcd *clientv3.Client, url string) error {
	backend, err := etcdlock.New(etcd, 10*time.Second)
	if err != nil {
		return err
	}
	web := &http.Client{Transport: &fencehttp.Transport{}}
	return lock.Do(ctx, backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		req, err := http.NewRequestWithContext(ctx, "PUT", url, strings.NewReader("paid"))
		if err != nil {
			return err
		}
		fencehttp.SetClaim(req.Header, g.Claim()) // the token, and the lock it belongs to
		resp, err := web.Do(req)                  // fence.ErrStale if a later holder was there
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			return fmt.Errorf("pay: %s", resp.Status)
		}
		return nil
	})
}

var _, _ = service, client

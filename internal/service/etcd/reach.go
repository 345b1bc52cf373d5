package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// reachDeadline is for how long an etcd that is there already is asked.
const reachDeadline = 10 * time.Second

// reach asks members that are there already. Where no etcd answers it is better said once than
// by each run, after a deadline of its own.
func reach(ctx context.Context, endpoints []string) error {
	for _, e := range endpoints {
		if !isAddress(strings.TrimPrefix(e, "http://")) {
			return fmt.Errorf("etcd at %q: want HOST:PORT", e)
		}
	}
	at := "etcd at " + strings.Join(endpoints, ", ")
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, reachDeadline, noAnswer(endpoints, reachDeadline))
	defer cancel()
	if _, err := client.Get(ctx, "fencelab"); errors.Is(err, rpctypes.ErrUserEmpty) {
		return fmt.Errorf("%s wants a user and a password, and runs have none: use one without authentication", at)
	} else if err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("%s: %w", at, err))
	}
	return nil
}

// isAddress reports whether s is HOST:PORT, as far as can be told without trying.
func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, " /@") {
		return false
	}
	n, err := net.LookupPort("tcp", port)
	return err == nil && n > 0
}

// noAnswer is why an etcd is given up.
func noAnswer(endpoints []string, after time.Duration) error {
	return fmt.Errorf("etcd at %s does not answer after %v: is it there, and does it speak without TLS?", strings.Join(endpoints, ", "), after)
}

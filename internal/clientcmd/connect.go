package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"

	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/internal/tracing"
)

// requestTimeout bounds one request to a service. What it cuts off has an
// unknown outcome.
const requestTimeout = 5 * time.Second

// tracesTimeout is for how long the end waits for the last traces to be sent.
const tracesTimeout = time.Second

// services are what a client works with.
type services struct {
	etcd    *clientv3.Client
	members *members
	locks   *locker
	store   *kvhttp.Client // nil where none is wanted

	stopTraces func(context.Context) error
}

func (s *services) close() {
	// What cannot be sent is lost: nobody waits for a collector.
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	_ = s.stopTraces(ctx)
	s.etcd.Close()
	if s.store != nil {
		s.store.Close()
	}
}

// connect makes sure that etcd answers, and the storage where one is wanted. An
// error is for the user, and says what to do.
func (c *config) connect(cmd *cobra.Command, wantStorage bool) (*services, error) {
	if wantStorage {
		return c.connectBy(cmd, c.askStorage)
	}
	return c.connectBy(cmd, nil)
}

// connectBy is connect with a storage that is tried by tryStorage; nil: none is
// wanted.
func (c *config) connectBy(cmd *cobra.Command, tryStorage func(context.Context) error) (*services, error) {
	wantStorage := tryStorage != nil
	if err := c.storage.Check(); wantStorage && err != nil {
		return nil, usage(cmd, err)
	}
	members := &members{known: len(c.endpoints)}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.endpoints,
		Logger:    zap.NewNop(), // what matters is in the errors
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(members.dial), grpc.WithConnectParams(grpc.ConnectParams{
			// By default the pauses grow to two minutes.
			Backoff:           grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		})},
	})
	if err != nil {
		return nil, usage(cmd, fmt.Errorf("--endpoints: %w", err))
	}
	s := &services{etcd: client, members: members}
	if s.stopTraces, err = tracing.Start(cmd.Context(), "fencelab-client"); err != nil {
		client.Close()
		return nil, err
	}
	if s.locks, err = newLocker(client, c.ttl, c.token.value); err != nil {
		s.close()
		return nil, usage(cmd, fmt.Errorf("--ttl: %w", err))
	}
	storage := make(chan error, 1)
	if wantStorage {
		if s.store, err = c.storage.Client(); err != nil {
			s.close()
			return nil, usage(cmd, err)
		}
		go func() { storage <- c.reachStorage(cmd.Context(), tryStorage) }()
	} else {
		storage <- nil
	}
	if err := errors.Join(c.reachEtcd(cmd.Context(), client), <-storage); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (c *config) reachEtcd(ctx context.Context, client *clientv3.Client) error {
	// Not by client.MemberList, which tries again by itself and hides the cause.
	cluster := etcdserverpb.NewClusterClient(client.ActiveConnection())
	err := reach(ctx, c.connectTimeout, func(ctx context.Context) error {
		_, err := cluster.MemberList(ctx, &etcdserverpb.MemberListRequest{Linearizable: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to reach etcd at %s: %w; start one with 'go run ./cmd/gcsim etcd', or say with --endpoints where it is",
			strings.Join(c.endpoints, ", "), err)
	}
	return nil
}

func (c *config) reachStorage(ctx context.Context, try func(context.Context) error) error {
	if err := reach(ctx, c.connectTimeout, try); err != nil {
		return fmt.Errorf("failed to reach the storage at %s: %w; start one with 'go run ./cmd/storage', or say with --storage where it is", c.storage.URL, err)
	}
	return nil
}

// askStorage makes sure that the storage answers.
func (c *config) askStorage(ctx context.Context) error {
	client, err := c.storage.HTTP()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.storage.URL, "/")+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be closed in peace
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /healthz answers %s", resp.Status)
	}
	return nil
}

// reach tries until it succeeds, or for as long as timeout. It returns the last
// error that says more than that time is over.
func reach(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var cause error
	_, err := backoff.Retry(limited, func() (struct{}, error) {
		err := try(limited)
		if cause == nil || limited.Err() == nil {
			cause = err
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(100*time.Millisecond)), backoff.WithMaxElapsedTime(timeout))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return cause
}

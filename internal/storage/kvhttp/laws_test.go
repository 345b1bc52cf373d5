package kvhttp_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// clientStore shows a whole storage, through HTTP and back, to the laws.
type clientStore struct {
	*kvhttp.Client
	engine kv.Engine
}

func (s clientStore) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.Client.Write(ctx, kv.Request{Claim: c}, key, value)
	return err
}

func (s clientStore) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.Client.Delete(ctx, kv.Request{Claim: c}, key)
	return err
}

func (s clientStore) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	return kvtest.Found(s.Client.Read(ctx, kv.Request{Claim: c}, key))
}

func TestStorageObeysTheLaws(t *testing.T) {
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			if k.Name != "memory" {
				need.Time(t, "to check all laws over HTTP on slower engines, too")
			}
			t.Parallel()
			fencetest.Run(t, k.Subject(t,
				func(e kv.Engine) fencetest.Store {
					srv := httptest.NewServer(kvhttp.NewHandler(e, kvhttp.Options{Metrics: kvhttp.NewMetrics()}))
					t.Cleanup(srv.Close)
					return clientStore{kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{}), e}
				},
				func(s fencetest.Store) kv.Engine { return s.(clientStore).engine }))
		})
	}
}

package fencek8s_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
)

// ConfigMap stands for that of k8s.io/api/core/v1.
type ConfigMap struct {
	Metadata map[string]any    `json:"metadata,omitempty"`
	Data     map[string]string `json:"data,omitempty"`
}

func Example() {
	ctx := context.Background()
	store, err := fencek8s.New("https://127.0.0.1:6443", "/api/v1/namespaces/default/configmaps")
	if err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "orders", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, fencek8s.Edit(func(orders *ConfigMap) error {
		orders.Data = map[string]string{"7": "paid"}
		return nil
	}))
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("a later holder was there")
	}
}

package fences3_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fences3"
)

func Example() {
	ctx := context.Background()
	client := s3.New(s3.Options{
		Region: "eu-central-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "orders", SecretAccessKey: "of the user orders"}, nil
		}),
	})
	store, err := fences3.New(ctx, client, "orders")
	if err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "/orders/7", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, func([]byte) ([]byte, error) {
		return []byte(`{"status": "paid"}`), nil
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("a later holder was there")
	}
}

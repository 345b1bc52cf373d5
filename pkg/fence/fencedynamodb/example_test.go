package fencedynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencedynamodb"
)

func Example() {
	ctx := context.Background()
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "orders", SecretAccessKey: "of the user orders"}, nil
		}),
	})
	store, err := fencedynamodb.New(ctx, client, "fence_marks")
	if err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "/orders/7", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, func(context.Context) ([]types.TransactWriteItem, error) {
		paid := map[string]types.AttributeValue{
			"order":  &types.AttributeValueMemberN{Value: "7"},
			"status": &types.AttributeValueMemberS{Value: "paid"},
		}
		return []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String("orders"), Item: paid}}}, nil
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("a later holder was there")
	}
}

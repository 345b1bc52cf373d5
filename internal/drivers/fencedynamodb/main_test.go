// Package fencedynamodb_test has the tests of fencedynamodb that need a server.
package fencedynamodb_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc/ddbtest"
)

func TestMain(m *testing.M) {
	proctest.Play(ddbproc.Command(), proc.Janitor())
	os.Exit(m.Run())
}

const deadline = time.Minute // for what is sure to happen

// start starts a server.
func start(t *testing.T) *proc.Node { return startBy(t, ddbproc.Start) }

func startBy(t *testing.T, by func(context.Context, *proc.Group) (*proc.Node, error)) *proc.Node {
	t.Helper()
	ddbtest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	n, err := by(ctx, proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dial makes a client as it is by default: it sends again what was not answered.
func dial(addr string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + addr), Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "fencelab", SecretAccessKey: "fencelab"}, nil
		}),
	})
}

// create makes a table with a partition key of a type, and with a sort key, if that has a name.
func create(ctx context.Context, client *dynamodb.Client, table, partition string, of types.ScalarAttributeType, sort string) error {
	in := &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &partition, AttributeType: of}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}},
	}
	if sort != "" {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &sort, AttributeType: types.ScalarAttributeTypeS})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
	}
	_, err := client.CreateTable(ctx, in)
	return err
}

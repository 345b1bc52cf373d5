// Package fencedynamodb_test has the tests of fencedynamodb that need a server.
package fencedynamodb_test

import (
	"context"
	"fmt"
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

// shared is the server of all tests but those that kill theirs.
var shared proctest.Shared[*proc.Node]

func TestMain(m *testing.M) {
	proctest.Play(ddbproc.Command(), proc.Janitor())
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const deadline = time.Minute // for what is sure to happen

// addr is the address of the shared server.
func addr(t *testing.T) string {
	t.Helper()
	ddbtest.Need(t)
	return shared.Get(t, deadline, ddbproc.Start).Addr
}

// start starts a server for one test.
func start(t *testing.T, by func(context.Context, *proc.Group) (*proc.Node, error)) *proc.Node {
	t.Helper()
	ddbtest.Need(t)
	return proctest.Started(t, deadline, by)
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

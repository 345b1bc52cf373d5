// Package fences3_test has the tests of fences3 that need a server.
package fences3_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc/s3test"
	"github.com/fencelab/fencelab/pkg/fence/fences3"
)

func TestMain(m *testing.M) {
	proctest.Play(s3proc.Command(), proc.Janitor())
	os.Exit(m.Run())
}

const deadline = time.Minute // for what is sure to happen

// start starts a server.
func start(t *testing.T) *proc.Node {
	t.Helper()
	s3test.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	n, err := s3proc.Start(ctx, proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dial makes a client as it is by default: it sends again what was not answered.
func dial(addr string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + addr), UsePathStyle: true, Region: s3test.Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey}, nil
		}),
	})
}

// create makes a bucket, and a store in it.
func create(ctx context.Context, client *s3.Client, bucket string) (*fences3.Store, error) {
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		return nil, err
	}
	return fences3.New(ctx, client, bucket)
}

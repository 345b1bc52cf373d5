package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3response"
)

// Of the server, and of all clients.
const (
	bucket    = "locks" // it has the locks of a run, an object for each
	region    = "us-east-1"
	accessKey = "fencelab"
	secretKey = "fencelab-secret"
)

// mostAtOnce is how many connections and requests a server takes at once.
const mostAtOnce = 4096

// serve is a server of S3: versitygw, whose objects are files in a directory. It tells of the bucket's changes.
func serve(dir, addr string) error {
	if err := os.MkdirAll(filepath.Join(dir, bucket), 0o755); err != nil {
		return err
	}
	files := meta.XattrMeta{}
	if err := files.Test(dir); err != nil {
		return err
	}
	store, err := posix.New(dir, files, posix.PosixOpts{})
	if err != nil {
		return err
	}
	told := os.Stdout
	os.Stdout = os.Stderr // where versitygw says that it serves
	return embedgw.RunVersityGW(context.Background(), &telling{Backend: store, told: json.NewEncoder(told)}, &embedgw.Config{
		RootUserAccess: accessKey, RootUserSecret: secretKey, Region: region, Ports: []string{addr}, HealthPath: "/health",
		MaxConnections: mostAtOnce, MaxRequests: mostAtOnce, MultipartMaxParts: 10000, Quiet: true, KeepAlive: true, DisableACLs: true,
	})
}

// telling tells of each change of an object of the bucket, in a line, before the client has its answer. One change is done
// after the other, so that the lines have the order of the changes.
type telling struct {
	backend.Backend
	mu   sync.Mutex
	told *json.Encoder
}

// change is a line.
type change struct {
	At   int64  `json:"at"` // in nanoseconds since 1970
	Key  string `json:"key"`
	Body string `json:"body"` // "": the object was deleted
}

// PutObject has the whole body before it begins: a client that stands still in the middle keeps nobody waiting.
func (t *telling) PutObject(ctx context.Context, in s3response.PutObjectInput) (out s3response.PutObjectOutput, err error) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return out, err
	}
	in.Body = bytes.NewReader(body)
	err = t.tell(*in.Bucket, *in.Key, string(body), func() error {
		out, err = t.Backend.PutObject(ctx, in)
		return err
	})
	return out, err
}

func (t *telling) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (out *s3.DeleteObjectOutput, err error) {
	err = t.tell(*in.Bucket, *in.Key, "", func() error {
		out, err = t.Backend.DeleteObject(ctx, in)
		return err
	})
	return out, err
}

func (t *telling) tell(in, key, body string, do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := do(); err != nil || in != bucket {
		return err
	}
	return t.told.Encode(change{time.Now().UnixNano(), key, body})
}

// What changes an object in another way is not to be had: nobody would tell of it.

func (t *telling) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	return backend.BackendUnsupported{}.CopyObject(ctx, in)
}

func (t *telling) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	return backend.BackendUnsupported{}.DeleteObjects(ctx, in)
}

func (t *telling) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	return backend.BackendUnsupported{}.CompleteMultipartUpload(ctx, in)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// asksWithin is for how long an answer is waited for.
const asksWithin = time.Second

// objects are those of the bucket, for one client.
type objects struct{ *s3.Client }

// connect makes a client that sends each request once: what becomes of a request that was not answered is for the recipe to
// find out.
func connect(addr string) objects {
	return objects{s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + addr), UsePathStyle: true, Region: region,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
		HTTPClient:  &http.Client{Timeout: asksWithin}, Retryer: aws.NopRetryer{},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})}
}

func (o objects) reach(ctx context.Context) error {
	_, err := o.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(bucket)})
	return err
}

// Whether an object is to be as it was read.
const (
	whateverIsThere = ""
	nothingIsThere  = "*"
)

// content is what the object of a lock says.
type content struct {
	Owner string    `json:"owner"` // the name of the tenure; "": the lock is free
	Token int64     `json:"token,omitzero"`
	Until time.Time `json:"until,omitzero"` // the end of the lease, by the holder's clock
	// For a waiter that measures the lease: how long it lasts, in milliseconds, and how often it was renewed. The number
	// makes the object another one: the ETag is a check sum of the content.
	Lease    int64 `json:"lease,omitzero"`
	Renewals int   `json:"renewals,omitzero"`
}

// object is one as it was read or written.
type object struct {
	content
	etag string // nothingIsThere: there is none
}

func keyOf(lock string) *string { return aws.String(strings.TrimPrefix(lock, "/")) }

func (o objects) read(ctx context.Context, lock string) (of object, err error) {
	got, err := o.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: keyOf(lock)})
	if code(err) == http.StatusNotFound {
		return object{etag: nothingIsThere}, nil
	}
	if err != nil {
		return of, err
	}
	defer got.Body.Close()
	of.etag = *got.ETag
	return of, json.NewDecoder(got.Body).Decode(&of.content)
}

// write writes the object if the one that is there has an ETag.
func (o objects) write(ctx context.Context, lock string, c content, etag string) (object, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return object{}, err
	}
	in := &s3.PutObjectInput{Bucket: aws.String(bucket), Key: keyOf(lock), Body: bytes.NewReader(body)}
	switch etag {
	case whateverIsThere:
	case nothingIsThere:
		in.IfNoneMatch = aws.String("*")
	default:
		in.IfMatch = aws.String(etag)
	}
	put, err := o.PutObject(ctx, in)
	if err != nil {
		return object{}, err
	}
	return object{c, *put.ETag}, nil
}

// remove deletes the object if it has an ETag.
func (o objects) remove(ctx context.Context, lock, etag string) error {
	in := &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: keyOf(lock)}
	if etag != whateverIsThere {
		in.IfMatch = aws.String(etag)
	}
	_, err := o.DeleteObject(ctx, in)
	return err
}

// changed reports that the object is not as it was read: it has another ETag, or is gone, or somebody is changing it.
func changed(err error) bool {
	switch code(err) {
	case http.StatusPreconditionFailed, http.StatusNotFound, http.StatusConflict:
		return true
	}
	return false
}

// code is the status of an answer; 0: there was none.
func code(err error) int {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

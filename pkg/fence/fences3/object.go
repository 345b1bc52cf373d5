package fences3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/scopekey"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// longest is how many bytes a key of S3 has at most.
const longest = 1024

// keyOf is the key of a scope. It has no "/": a server whose objects are files takes a/b and a//b for one key, and has no
// object a beside it.
func keyOf(scope string) (string, error) {
	key, err := scopekey.Of(scope)
	if err != nil {
		return "", err
	}
	key = strings.ReplaceAll(key, "/", "=2F") // as scopekey writes other signs
	if len(key) > longest {
		return "", fmt.Errorf("%w: its key has %d bytes, want %d at most", fence.ErrInvalidScope, len(key), longest)
	}
	return key, nil
}

// object is one of the bucket. One that is not there has no ETag.
type object struct {
	swap.Kept
	data []byte // nil: there are none
	etag string
}

// The first line of an object: the token, the sequence and the shared token of its mark, and who has written it.
const (
	markLine = "Fence-Mark: "
	writer   = " by "
	deleted  = " deleted" // ends the line where there are no data
)

func (o object) content() []byte {
	line := fmt.Sprint(markLine, o.Mark.Token, " ", o.Mark.Sequence, " ", o.Mark.Shared)
	if o.By != "" {
		line += writer + o.By
	}
	if o.data == nil {
		line += deleted
	}
	return append([]byte(line+"\n"), o.data...)
}

// parse takes an object's content apart. What does not begin with a mark is data.
func parse(content []byte) (o object, err error) {
	if !bytes.HasPrefix(content, []byte(markLine)) {
		return object{data: content}, nil
	}
	line, data, _ := bytes.Cut(content, []byte("\n"))
	if _, err := fmt.Sscanf(string(line), markLine+"%d %d %d", &o.Mark.Token, &o.Mark.Sequence, &o.Mark.Shared); err != nil {
		return o, err
	}
	if !bytes.HasSuffix(line, []byte(deleted)) {
		o.data = data
	}
	_, by, _ := strings.Cut(strings.TrimSuffix(string(line), deleted), writer)
	o.By = by
	if !bytes.Equal(o.content(), content) {
		return o, errors.New("it ends in another way")
	}
	return o, nil
}

// read reads an object.
func (s *Store) read(ctx context.Context, key string) (object, error) {
	got, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if code(err) == noKey {
		return object{}, nil
	}
	if err != nil {
		return object{}, err
	}
	defer got.Body.Close()
	content, err := io.ReadAll(got.Body)
	if err != nil {
		return object{}, err
	}
	o, err := parse(content)
	if err != nil {
		line, _, _ := bytes.Cut(content, []byte("\n"))
		return object{}, fence.Definite.Wrap(fmt.Errorf("the object %s has the line %.100q, which is none of this package: %w", key, line, err))
	}
	if o.etag = aws.ToString(got.ETag); o.etag == "" {
		return object{}, fence.Definite.New(fmt.Sprintf("the object %s has no ETag: want a server that says it", key))
	}
	return o, nil
}

// write writes an object, if the one that is there has its ETag, and says whether it has. It asks once: a request that is done,
// and asked again, would be refused because of itself.
func (s *Store) write(ctx context.Context, key string, o object) (written bool, err error) {
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(o.content())}
	if o.etag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &o.etag
	}
	put, err := s.client.PutObject(ctx, in, func(of *s3.Options) { of.Retryer = aws.NopRetryer{} })
	switch status := status(err); {
	case err == nil && aws.ToString(put.ETag) == "": // something on the way may have answered
		return false, fence.Unknown.New("the answer to the PUT has no ETag")
	case err == nil:
		return true, nil
	case status == http.StatusPreconditionFailed, code(err) == noKey, code(err) == conflict:
		return false, nil
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return false, fence.Definite.Wrap(err)
	}
	return false, fence.Unknown.Wrap(err)
}

// status is the status of an answer; 0: there was none.
func status(err error) int {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// What a server says of an object that is gone, and of one that somebody else is changing.
const (
	noKey    = "NoSuchKey"
	conflict = "ConditionalRequestConflict"
)

// code is what a server calls an error; "": it has called it nothing.
func code(err error) string {
	var said smithy.APIError
	if errors.As(err, &said) {
		return said.ErrorCode()
	}
	return ""
}

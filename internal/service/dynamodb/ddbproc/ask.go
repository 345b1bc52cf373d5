package ddbproc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Target is the header of a request that says what it asks for: Version, and the name of an operation.
const (
	Target  = "X-Amz-Target"
	Version = "DynamoDB_20120810."
)

// anybody is what DynamoDB Local wants to be told of who asks. It compares no signature.
const anybody = "AWS4-HMAC-SHA256 Credential=fencelab/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none"

// Header is the header of a request for an operation.
func Header(operation string) http.Header {
	return http.Header{Target: {Version + operation}, "Content-Type": {"application/x-amz-json-1.0"}, "Authorization": {anybody}}
}

// Ask has a server do an operation, and returns its answer. An error says what it has refused.
func Ask(ctx context.Context, addr, operation string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = Header(operation)
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	answer, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of DynamoDB answers %s: %s", operation, got.Status, answer)
	}
	return answer, err
}

// Package fencegrpc carries fencing claims over gRPC: as metadata, which interceptors of the
// client take from the context of lock.Do, and as details of the status of a refusal.
// Interceptors of the server run handlers under a fence.Guard.
//
// The metadata has the names and values of fencehttp's headers. Only the scope has another name,
// fencing-scope-bin, because other metadata has to be printable ASCII.
//
// # Outcomes
//
// A client that uses the interceptors gets a refusal as the error that the Guard returned:
// errors.As finds the *fence.StaleError with both tokens, and errors.Is finds fence.ErrStale,
// ErrNoToken, ErrInvalidToken, ErrInvalidSequence, ErrInvalidMode, ErrInvalidScope, ErrAhead or
// ErrDuplicate, all of which are definite. The status is there as well:
//
//	error                               code
//	ErrStale                            FailedPrecondition
//	ErrNoToken, ErrInvalid…             InvalidArgument
//	ErrAhead                            OutOfRange
//	ErrDuplicate                        AlreadyExists
//	another one of the Guard's          Unavailable, or that of a context that is done
//	another one of the handler's        its own
//
// Every other status says nothing of the outcome, which is unknown then.
package fencegrpc

import (
	"context"
	"net/http"

	"google.golang.org/grpc/metadata"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// keys are those of the metadata, by the header that says the same over HTTP.
var keys = map[string]string{
	fencehttp.HeaderToken:    "fencing-token",
	fencehttp.HeaderScope:    "fencing-scope-bin",
	fencehttp.HeaderSequence: "fencing-sequence",
	fencehttp.HeaderMode:     "fencing-mode",
}

// SetClaim returns a context whose calls show c. It takes the place of a claim that the calls
// of ctx show.
func SetClaim(ctx context.Context, c fence.Claim) context.Context {
	h := make(http.Header)
	fencehttp.SetClaim(h, c)
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = make(metadata.MD)
	}
	for header, key := range keys {
		delete(md, key)
		md.Append(key, h[header]...)
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// ParseClaim reads the claim of a call from the context of its handler, as
// fencehttp.ParseClaim does from the headers of a request; scope is the default where the call
// names none.
func ParseClaim(ctx context.Context, scope string) (fence.Claim, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return fencehttp.ParseClaim(headers(md), scope)
}

// headers are those that say over HTTP what md says of a claim.
func headers(md metadata.MD) http.Header {
	h := make(http.Header)
	for header, key := range keys {
		if v := md[key]; len(v) > 0 {
			h[header] = v
		}
	}
	return h
}

// Scope names the lock that guards a method, such as "/orders.Orders/Pay"; "" where none does.
type Scope func(ctx context.Context, method string) string

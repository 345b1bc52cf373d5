package fencegrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/fencelab/fencelab/pkg/fence"
)

// UnaryClientInterceptor has each call show the claim of the lock that scope names. The call's
// context carries the claim; see fence.WithClaim. Where scope returns "", or the context
// carries no claim of that scope, the call goes as it is. So does one that shows a claim
// already, as by SetClaim.
//
// A claim goes to the server of the connection that has the interceptor, and to no other.
func UnaryClientInterceptor(scope Scope) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return refusalOf(invoke(scope.claiming(ctx, method), method, req, reply, cc, opts...))
	}
}

// StreamClientInterceptor does for streams what UnaryClientInterceptor does for calls: the
// stream shows its claim once, when it is opened.
func StreamClientInterceptor(scope Scope) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		stream, err := open(scope.claiming(ctx, method), desc, cc, method, opts...)
		if err != nil {
			return nil, refusalOf(err)
		}
		return clientStream{stream}, nil
	}
}

// claiming returns ctx with the claim that it carries for the method, if any.
func (s Scope) claiming(ctx context.Context, method string) context.Context {
	if md, _ := metadata.FromOutgoingContext(ctx); len(headers(md)) > 0 {
		return ctx
	}
	scope := s(ctx, method)
	if scope == "" {
		return ctx
	}
	c, _ := fence.ClaimOf(ctx, scope) // where there is none, nothing is sent
	return SetClaim(ctx, c)
}

// clientStream tells of a refusal where the stream tells its status.
type clientStream struct{ grpc.ClientStream }

func (s clientStream) RecvMsg(m any) error { return refusalOf(s.ClientStream.RecvMsg(m)) }

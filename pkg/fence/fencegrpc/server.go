package fencegrpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Options of the server's interceptors.
type Options struct {
	// Scope names the lock that guards a method. It is required: the server decides which
	// mark a call is judged by, or a client could pass by naming a lock that nobody holds.
	// A call that names another lock is refused as invalid. So is one that shows a claim to
	// a method for which Scope returns "", that is, which no lock guards.
	Scope Scope
	// Reads reports whether a method only reads. It needs no token then. A call that shows
	// one raises the mark, but its sequence number is ignored. Nil: all guarded methods write.
	Reads func(method string) bool
}

// UnaryServerInterceptor puts the check of g in front of the handlers. Check and handler are
// one step: while the handler runs, no other guarded call of the scope does. A client that
// gives up while it waits for its turn gives up its turn; the handler does not run for it. The
// handler has the context that g hands to an operation.
//
// A handler that returns an error has failed: its sequence number may be used again.
func UnaryServerInterceptor(g fence.Guard, o Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
		err = o.do(ctx, g, info.FullMethod, func(ctx context.Context) (err error) {
			reply, err = handle(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		return reply, nil
	}
}

// StreamServerInterceptor does for streams what UnaryServerInterceptor does for calls: a whole
// stream is one step. The claim that it showed when it was opened is judged once, and all
// other guarded calls of the scope, those of the next holder too, wait until its handler
// returns. So it is for streams that are short. What a client is sent before the end of the
// stream may be undone, where g undoes what fails.
//
// The handler of a long stream is better off without it. The handler reads the claim by
// ParseClaim, calls the Guard for each message, and returns what Error makes of a refusal.
func StreamServerInterceptor(g fence.Guard, o Options) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return o.do(stream.Context(), g, info.FullMethod, func(ctx context.Context) error {
			return handle(srv, serverStream{stream, ctx})
		})
	}
}

// do calls handle, under g where a lock guards the method. Its error is one for the client.
func (o Options) do(ctx context.Context, g fence.Guard, method string, handle func(context.Context) error) error {
	c, guarded, err := o.claim(ctx, method)
	if err != nil {
		return Error(err)
	}
	if !guarded {
		return Error(handle(ctx))
	}
	var failed error // of the handler
	err = g.Do(ctx, c, func(ctx context.Context) error {
		failed = handle(ctx)
		return failed
	})
	switch {
	case failed != nil && errors.Is(err, failed):
		return Error(failed)
	case err == nil || refused(err):
		return Error(err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return status.Error(status.FromContextError(ctx.Err()).Code(), err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

// claim returns what a call shows, and whether a Guard has to judge it.
func (o Options) claim(ctx context.Context, method string) (c fence.Claim, guarded bool, err error) {
	if o.Scope == nil {
		return c, false, status.Error(codes.Internal, "the server does not say which lock guards "+method+", and nothing was done: set Options.Scope of fencegrpc")
	}
	scope := o.Scope(ctx, method)
	c, err = ParseClaim(ctx, scope)
	switch {
	case err != nil:
		return c, false, err
	case scope == "" && c != (fence.Claim{}):
		return c, false, fmt.Errorf("%w: a claim is shown to %s, which no lock guards", fence.ErrInvalidScope, method)
	case c.Scope != scope:
		return c, false, fmt.Errorf("%w: it names %q, but %s is guarded by %q", fence.ErrInvalidScope, c.Scope, method, scope)
	case o.Reads != nil && o.Reads(method):
		c.Sequence = 0
		return c, c.Token != 0, nil
	}
	return c, scope != "", nil
}

// serverStream has the context that the Guard hands to an operation.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s serverStream) Context() context.Context { return s.ctx }

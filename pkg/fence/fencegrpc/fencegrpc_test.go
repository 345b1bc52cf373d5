package fencegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencegrpc"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// both runs a test of calls and of streams.
func both(t *testing.T, test func(t *testing.T, stream bool)) {
	t.Run("calls", func(t *testing.T) { test(t, false) })
	t.Run("streams", func(t *testing.T) { test(t, true) })
}

// store is the service behind the interceptors as a store for the laws.
type store struct {
	conn   *grpc.ClientConn
	stream bool
}

func openStore(t *testing.T, g fence.Guard, stream bool) store {
	n := &notes{data: make(map[string][]byte)}
	none := func(context.Context, string) string { return "" }
	return store{serve(t, service(n.do), fenced(g, byLock), claiming(none)...), stream}
}

func (s store) do(ctx context.Context, c fence.Claim, method string, n note) (note, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, "lock-bin", c.Scope)
	out, err := call(fencegrpc.SetClaim(ctx, c), s.conn, s.stream, method, n)
	if errors.Is(err, io.EOF) { // the end of a stream
		err = nil
	}
	return out, err
}

func (s store) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.do(ctx, c, write, note{[]byte(key), []byte(value)})
	return err
}

func (s store) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.do(ctx, c, remove, note{Key: []byte(key)})
	return err
}

func (s store) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	n, err := s.do(ctx, c, read, note{Key: []byte(key)})
	if status.Code(err) == codes.NotFound {
		return "", false, nil
	}
	return string(n.Value), err == nil, err
}

// TestLaws: an unprotected service becomes a fenced store by the interceptors, and the
// refusals come as the errors that they were.
func TestLaws(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		fencetest.Run(t, fencetest.Subject{
			Open: func(context.Context) (fencetest.Store, error) { return openStore(t, new(fence.Register), stream), nil },
			OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
				reg := &fence.Register{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
				return openStore(t, reg, stream), nil
			},
			Idle:  time.Millisecond, // a Register has no clock
			Marks: 200,              // more are for the tests of the Register itself
		})
	})
}

// guard is a Guard by a function.
type guard func(context.Context, fence.Claim, func(context.Context) error) error

func (g guard) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	return g(ctx, c, op)
}

// TestErrorsOfTheGuard: what it returns, the client gets, with its code and what is known.
func TestErrorsOfTheGuard(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		for _, tt := range []struct {
			err     error
			code    codes.Code
			is      error // what the client's error matches
			outcome fence.Outcome
		}{
			{&fence.StaleError{Scope: "/замок\n", Token: 1<<62 + 1, Mark: 1<<62 + 2}, codes.FailedPrecondition, fence.ErrStale, fence.Definite},
			{&fence.StaleError{Scope: "/a", Token: 34, Mark: 34, Sequence: 1, MarkSequence: 2}, codes.FailedPrecondition, fence.ErrStale, fence.Definite},
			{&fence.StaleError{Scope: "/a", Token: 33, Mark: 34, MarkMode: fence.Shared}, codes.FailedPrecondition, fence.ErrStale, fence.Definite},
			{&fence.AheadError{Scope: "/a", Token: 35, Bound: 34}, codes.OutOfRange, fence.ErrAhead, fence.Definite},
			{fence.ErrNoToken, codes.InvalidArgument, fence.ErrNoToken, fence.Definite},
			{fmt.Errorf("%w: 0", fence.ErrInvalidToken), codes.InvalidArgument, fence.ErrInvalidToken, fence.Definite},
			{fence.ErrInvalidSequence, codes.InvalidArgument, fence.ErrInvalidSequence, fence.Definite},
			{fence.ErrInvalidMode, codes.InvalidArgument, fence.ErrInvalidMode, fence.Definite},
			{fence.ErrInvalidScope, codes.InvalidArgument, fence.ErrInvalidScope, fence.Definite},
			{fmt.Errorf("here: %w", fence.ErrDuplicate), codes.AlreadyExists, fence.ErrDuplicate, fence.Definite},
			{fence.ErrNoBound, codes.Unavailable, nil, fence.Unknown},
			{errors.New("the disk is full"), codes.Unavailable, nil, fence.Unknown},
		} {
			s := openStore(t, guard(func(context.Context, fence.Claim, func(context.Context) error) error { return tt.err }), stream)
			err := s.Write(t.Context(), fence.Claim{Scope: "/a", Token: 34}, "k", "v")
			if status.Code(err) != tt.code || tt.is != nil && !errors.Is(err, tt.is) || fence.OutcomeOf(err) != tt.outcome || !strings.Contains(err.Error(), lastWords(tt.err)) {
				t.Errorf("%v came back as %v, with code %v, and is %v", tt.err, err, status.Code(err), fence.OutcomeOf(err))
			}
			for _, other := range []error{fence.ErrStale, fence.ErrAhead, fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrInvalidSequence, fence.ErrInvalidMode, fence.ErrInvalidScope, fence.ErrDuplicate} {
				if other != tt.is && errors.Is(err, other) {
					t.Errorf("%v came back as %v too", tt.err, other)
				}
			}
			var sent, got *fence.StaleError
			if errors.As(tt.err, &sent) && (!errors.As(err, &got) || *sent != *got) {
				t.Errorf("%+v came back as %+v", sent, got)
			}
			var ahead, back *fence.AheadError
			if errors.As(tt.err, &ahead) && (!errors.As(err, &back) || *ahead != *back) {
				t.Errorf("%+v came back as %+v", ahead, back)
			}
		}
	})
}

// lastWords are those of an error that the client's error has, too.
func lastWords(err error) string {
	for _, sentinel := range []error{fence.ErrDuplicate} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return err.Error()
}

// foreign is a status that gives a reason of another domain.
func foreign(t *testing.T, reason string) error {
	s, err := status.New(codes.AlreadyExists, "there is such a note").WithDetails(&errdetails.ErrorInfo{Domain: "notes.example", Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// TestDetails: what clients in other languages read.
func TestDetails(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want *errdetails.ErrorInfo
	}{
		{&fence.StaleError{Scope: "/a", Token: 33, Mark: 34, MarkMode: fence.Shared}, &errdetails.ErrorInfo{
			Reason: "STALE", Metadata: map[string]string{"reason": "stale", "scope": "/a", "token": "33", "mark": "34", "mark_mode": "shared"},
		}},
		{fence.ErrInvalidScope, &errdetails.ErrorInfo{Reason: "INVALID", Metadata: map[string]string{"reason": "invalid", "field": "scope"}}},
		{fence.ErrDuplicate, &errdetails.ErrorInfo{Reason: "DUPLICATE"}},
	} {
		tt.want.Domain = "github.com/fencelab/fencelab"
		s, _ := status.FromError(fencegrpc.Error(fmt.Errorf("here: %w", tt.err)))
		if d := s.Details(); len(d) != 1 || !proto.Equal(d[0].(proto.Message), tt.want) || s.Message() != "here: "+tt.err.Error() {
			t.Errorf("%v: %q with the details %v, want %v", tt.err, s.Message(), d, tt.want)
		}
	}
}

// TestDoneContext: a server's log does not say that the Guard is away where the client is.
func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	intercept := fencegrpc.UnaryServerInterceptor(new(fence.Register), fencegrpc.Options{Scope: func(context.Context, string) string { return "/a" }})
	ctx = metadata.NewIncomingContext(ctx, metadata.MD{"fencing-token": {"34"}})
	_, err := intercept(ctx, nil, &grpc.UnaryServerInfo{FullMethod: write}, func(context.Context, any) (any, error) { return nil, errors.New("it ran") })
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}

// TestErrorsOfTheHandler: they are its own, and use up no sequence number. A refusal that it
// returns as Error makes it is one to the client, and so is one from further behind.
func TestErrorsOfTheHandler(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		n := &notes{data: make(map[string][]byte)}
		none := func(context.Context, string) string { return "" }
		s := store{serve(t, service(n.do), fenced(new(fence.Register), byLock), claiming(none)...), stream}
		c := fence.Claim{Scope: "/a", Token: 34, Sequence: 1}
		for _, tt := range []struct {
			fail error
			code codes.Code
			is   error
		}{
			{status.Error(codes.DataLoss, "the page is torn"), codes.DataLoss, nil},
			{errors.New("plain"), codes.Unknown, nil},
			{&fence.StaleError{Scope: "/behind", Token: 1, Mark: 2}, codes.FailedPrecondition, fence.ErrStale},
			{fencegrpc.Error(fence.ErrAhead), codes.OutOfRange, fence.ErrAhead},
			{foreign(t, "DUPLICATE"), codes.AlreadyExists, nil},
		} {
			n.fail = tt.fail
			err := s.Write(t.Context(), c, "k", "v")
			if status.Code(err) != tt.code || tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && fence.OutcomeOf(err) != fence.Unknown {
				t.Errorf("%v came back as %v", tt.fail, err)
			}
		}
		n.fail = nil
		if err := s.Write(t.Context(), c, "k", "v"); err != nil {
			t.Errorf("after failures, with the same number: %v", err)
		}
		if err := s.Write(t.Context(), c, "k", "v"); !errors.Is(err, fence.ErrDuplicate) {
			t.Errorf("once more: %v, want a duplicate", err)
		}
	})
}

// TestGivingUpTheTurn: the handler does not run for a client that is gone.
func TestGivingUpTheTurn(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		inside, leave := make(chan string, 2), make(chan struct{})
		do := func(_ context.Context, _ string, in note) (note, error) {
			inside <- string(in.Key)
			<-leave
			return note{}, nil
		}
		waiting, over := make(chan struct{}, 3), make(chan error, 3)
		marks := new(fence.Register)
		g := guard(func(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
			waiting <- struct{}{}
			err := marks.Do(ctx, c, op)
			over <- err
			return err
		})
		none := func(context.Context, string) string { return "" }
		s := store{serve(t, service(do), fenced(g, byLock), claiming(none)...), stream}
		first := make(chan error, 1)
		go func() { first <- s.Write(t.Context(), fence.Claim{Scope: "/a", Token: 34}, "first", "") }()
		<-waiting
		if key := <-inside; key != "first" {
			t.Fatal(key)
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { second <- s.Write(ctx, fence.Claim{Scope: "/a", Token: 35}, "second", "") }()
		<-waiting
		cancel()
		if err := <-second; status.Code(err) != codes.Canceled || fence.OutcomeOf(err) != fence.Unknown {
			t.Errorf("the second one got %v, which is %v", err, fence.OutcomeOf(err))
		}
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("the second one ended with %v, want that it gave up its turn", err)
		}
		close(leave)
		if err := <-first; err != nil {
			t.Errorf("the first one got %v", err)
		}
		if err := s.Write(t.Context(), fence.Claim{Scope: "/a", Token: 34}, "third", ""); err != nil {
			t.Errorf("the mark is %+v: %v", marks.Mark("/a"), err)
		}
		if key := <-inside; key != "third" {
			t.Errorf("the handler ran for %s", key)
		}
	})
}

// TestContextOfTheGuard: the handler has what the Guard puts into it.
func TestContextOfTheGuard(t *testing.T) {
	type transaction struct{}
	both(t, func(t *testing.T, stream bool) {
		g := guard(func(ctx context.Context, _ fence.Claim, op func(context.Context) error) error {
			return op(context.WithValue(ctx, transaction{}, "of the Guard"))
		})
		do := func(ctx context.Context, _ string, _ note) (note, error) {
			value, _ := ctx.Value(transaction{}).(string)
			return note{Value: []byte(value)}, nil
		}
		s := store{serve(t, service(do), fenced(g, byLock)), stream}
		if got, _, err := s.Read(t.Context(), fence.Claim{Scope: "/a", Token: 34}, "k"); got != "of the Guard" || err != nil {
			t.Errorf("the handler's context has %q, %v", got, err)
		}
	})
}

// TestWhichCallsAreGuarded: by the server's word alone.
func TestWhichCallsAreGuarded(t *testing.T) {
	orders := func(_ context.Context, method string) string {
		if strings.HasPrefix(method, remove) {
			return ""
		}
		return "/orders"
	}
	reads := func(method string) bool { return strings.HasPrefix(method, read) }
	both(t, func(t *testing.T, stream bool) {
		for _, tt := range []struct {
			method string
			claim  fence.Claim
			want   error // nil: the handler runs
			judged bool  // by the Guard
		}{
			{write, fence.Claim{Token: 34}, nil, true},
			{write, fence.Claim{Scope: "/orders", Token: 34}, nil, true},
			{write, fence.Claim{Scope: "/others", Token: 34}, fence.ErrInvalidScope, false},
			{write, fence.Claim{}, fence.ErrNoToken, true},
			{read, fence.Claim{}, nil, false},
			{read, fence.Claim{Token: 34, Sequence: 2}, nil, true},
			{read, fence.Claim{Scope: "/others"}, fence.ErrInvalidScope, false},
			{remove, fence.Claim{}, nil, false},
			{remove, fence.Claim{Scope: "/orders", Token: 34}, fence.ErrInvalidScope, false},
			{remove, fence.Claim{Token: 34}, fence.ErrInvalidScope, false},
		} {
			ran, judged := false, false
			marks := new(fence.Register)
			g := guard(func(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
				judged = true
				if c.Sequence != 0 {
					t.Errorf("%s: the claim of a read is %+v", tt.method, c)
				}
				return marks.Do(ctx, c, op)
			})
			do := func(context.Context, string, note) (note, error) { ran = true; return note{}, nil }
			none := func(context.Context, string) string { return "" }
			conn := serve(t, service(do), fenced(g, fencegrpc.Options{Scope: orders, Reads: reads}), claiming(none)...)
			_, err := call(fencegrpc.SetClaim(t.Context(), tt.claim), conn, stream, tt.method, note{})
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if !errors.Is(err, tt.want) || ran != (tt.want == nil) || judged != tt.judged {
				t.Errorf("%s with %+v: %v; ran: %v, judged: %v", tt.method, tt.claim, err, ran, judged)
			}
		}
		conn := serve(t, service(nil), fenced(new(fence.Register), fencegrpc.Options{}))
		if _, err := call(t.Context(), conn, stream, write, note{}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "Options.Scope") {
			t.Errorf("a server that names no lock: %v", err)
		}
	})
}

// TestClaimOfTheContext: a call shows the claim of the lock that the client's scope names for
// it, and not in the place of one that it shows already. What else it sends stays.
func TestClaimOfTheContext(t *testing.T) {
	locks := map[string]string{write: "/замок", remove: "/none"}
	scope := func(_ context.Context, method string) string { return locks[strings.TrimSuffix(method, "s")] }
	both(t, func(t *testing.T, stream bool) {
		var got metadata.MD
		do := func(ctx context.Context, _ string, _ note) (note, error) {
			got, _ = metadata.FromIncomingContext(ctx)
			return note{}, nil
		}
		conn := serve(t, service(do), nil, claiming(scope)...)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "fellow", "traveller")
		ctx = fence.WithClaim(ctx, fence.Claim{Scope: "/замок", Token: 34, Mode: fence.Shared})
		ctx = fence.WithClaim(ctx, fence.Claim{Token: 35}) // of no scope, and so for no method
		own := fencegrpc.SetClaim(ctx, fence.Claim{Scope: "/other", Token: 1, Mode: fence.Shared})
		own = fencegrpc.SetClaim(own, fence.Claim{Token: 33, Sequence: 2})
		for _, tt := range []struct {
			ctx    context.Context
			method string
			want   metadata.MD
		}{
			{ctx, write, metadata.MD{"fencing-token": {"34"}, "fencing-scope-bin": {"/замок"}, "fencing-mode": {"shared"}}},
			{own, write, metadata.MD{"fencing-token": {"33"}, "fencing-sequence": {"2"}}},
			{ctx, remove, metadata.MD{}},
			{ctx, read, metadata.MD{}},
		} {
			if _, err := call(tt.ctx, conn, stream, tt.method, note{}); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if !slices.Equal(got["fellow"], []string{"traveller"}) {
				t.Errorf("%s: what else was sent is %q", tt.method, got["fellow"])
			}
			maps.DeleteFunc(got, func(key string, _ []string) bool { return !strings.HasPrefix(key, "fencing-") })
			if !maps.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("%s: sent %v, want %v", tt.method, got, tt.want)
			}
		}
	})
}

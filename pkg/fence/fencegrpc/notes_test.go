package fencegrpc_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencegrpc"
)

// The methods of the service Notes.
const (
	write  = "/test.Notes/Write"
	remove = "/test.Notes/Delete"
	read   = "/test.Notes/Read"
)

// note is what all methods of Notes take and return, as JSON in a BytesValue.
type note struct{ Key, Value []byte }

func (n note) message() *wrapperspb.BytesValue {
	doc, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return wrapperspb.Bytes(doc)
}

func noteOf(m *wrapperspb.BytesValue) (n note) {
	if err := json.Unmarshal(m.Value, &n); err != nil {
		panic(err)
	}
	return n
}

// notes is an unprotected service: texts by key. Each method is there as a call, and as a
// stream of calls whose name ends in s.
type notes struct {
	mu   sync.Mutex
	data map[string][]byte
	fail error // of Write
}

func (n *notes) do(_ context.Context, method string, in note) (out note, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch method {
	case write:
		if n.fail != nil {
			return out, n.fail
		}
		n.data[string(in.Key)] = in.Value
	case remove:
		delete(n.data, string(in.Key))
	case read:
		v, ok := n.data[string(in.Key)]
		if !ok {
			return out, status.Error(codes.NotFound, "no such note")
		}
		out.Value = v
	}
	return out, nil
}

// service is one that calls do for each message.
func service(do func(ctx context.Context, method string, in note) (note, error)) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: "test.Notes", HandlerType: (*any)(nil)}
	for _, name := range []string{"Write", "Delete", "Read"} {
		method := "/test.Notes/" + name
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, req any) (any, error) {
				out, err := do(ctx, method, noteOf(req.(*wrapperspb.BytesValue)))
				return out.message(), err
			}
			if through == nil {
				return handle(ctx, in)
			}
			return through(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, handle)
		}})
		desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name + "s", ServerStreams: true, ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			for {
				in := new(wrapperspb.BytesValue)
				if err := stream.RecvMsg(in); err != nil {
					return nil // the client is done
				}
				out, err := do(stream.Context(), method, noteOf(in))
				if err != nil {
					return err
				}
				if err := stream.SendMsg(out.message()); err != nil {
					return err
				}
			}
		}})
	}
	return desc
}

// serve runs a service in memory, and returns a connection to it.
func serve(tb testing.TB, desc *grpc.ServiceDesc, server []grpc.ServerOption, client ...grpc.DialOption) *grpc.ClientConn {
	s := grpc.NewServer(server...)
	s.RegisterService(desc, nil)
	listener := bufconn.Listen(1 << 20)
	go func() { _ = s.Serve(listener) }() // returns by Stop
	conn, err := grpc.NewClient("passthrough:notes", append(client,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
	})
	return conn
}

// fenced are the options of a server whose handlers run under g.
func fenced(g fence.Guard, o fencegrpc.Options) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.UnaryInterceptor(fencegrpc.UnaryServerInterceptor(g, o)),
		grpc.StreamInterceptor(fencegrpc.StreamServerInterceptor(g, o)),
	}
}

// claiming are the options of a client that shows claims.
func claiming(scope fencegrpc.Scope) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(fencegrpc.UnaryClientInterceptor(scope)),
		grpc.WithStreamInterceptor(fencegrpc.StreamClientInterceptor(scope)),
	}
}

// call sends a note, as a call or as a stream of one message, and returns the answer.
func call(ctx context.Context, conn *grpc.ClientConn, stream bool, method string, in note) (note, error) {
	out := new(wrapperspb.BytesValue)
	if !stream {
		if err := conn.Invoke(ctx, method, in.message(), out); err != nil {
			return note{}, err
		}
		return noteOf(out), nil
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method+"s")
	if err != nil {
		return note{}, err
	}
	_ = s.SendMsg(in.message()) // if this fails, RecvMsg says why
	_ = s.CloseSend()
	if err := s.RecvMsg(out); err != nil {
		return note{}, err
	}
	return noteOf(out), s.RecvMsg(new(wrapperspb.BytesValue))
}

// byLock are options by which the metadata of a call say which lock guards it; so that each
// test may have as many as it likes.
var byLock = fencegrpc.Options{
	Scope: func(ctx context.Context, _ string) string {
		md, _ := metadata.FromIncomingContext(ctx)
		return md["lock-bin"][0]
	},
	Reads: func(method string) bool { return method == read || method == read+"s" },
}

package etcdserver

import (
	"context"
	"net/netip"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// keepPagesOut lets no web page read what etcd tells by plain HTTP, its metrics and
// health: those of other origins, nor on loopback those whose own name points here.
// Nor does any page ask for something by the JSON gateway.
func keepPagesOut(cfg *embed.Config) {
	at := cfg.ListenClientUrls[0]
	cfg.CORS = map[string]struct{}{at.String(): {}} // none would mean all
	if ip, err := netip.ParseAddr(at.Hostname()); at.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		cfg.HostWhitelist = make(map[string]struct{})
		for _, host := range []string{"localhost", "127.0.0.1", "::1", at.Hostname()} {
			cfg.HostWhitelist[host] = struct{}{}
		}
	}
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, ask any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := notOfPage(ctx); err != nil {
				return nil, err
			}
			return next(ctx, ask)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := notOfPage(stream.Context()); err != nil {
				return err
			}
			return next(server, stream)
		}),
	}
}

// notOfPage refuses a request with an Origin, which browsers send for pages. The gateway passes the Origin on.
func notOfPage(ctx context.Context) error {
	if origin := metadata.ValueFromIncomingContext(ctx, "grpcgateway-origin"); len(origin) > 0 {
		return status.Errorf(codes.PermissionDenied, "a web page of %s sent this, and no page is obeyed", origin[0])
	}
	return nil
}

package storagecmd

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"

	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// serveProfiles serves Go's profiles on an address of their own, if one is given; loopback only, because they
// tell everything that is in memory. It returns how to stop.
func (c *config) serveProfiles(log *slog.Logger) (stop func(), err error) {
	if c.profiles == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", c.profiles)
	if err != nil {
		return nil, fmt.Errorf("--pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	guarded := kvhttp.Guard(mux, kvhttp.Options{Logger: log, Loopback: onLoopback(ln)})
	srv := &http.Server{Handler: guarded, ReadHeaderTimeout: headerTimeout}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) }) // ends by stop
	log.Info("profiles", "url", "http://"+ln.Addr().String()+"/debug/pprof/")
	return func() { srv.Close(); serving.Wait() }, nil
}

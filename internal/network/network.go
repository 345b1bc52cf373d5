// Package network is the network between a client and a service, as faults make it:
// it can hold back what is sent or answered, delay it, lose it, and be cut.
package network

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/pkg/v3/proxy"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/ports"
)

// Link leads to one address of a service. The embedded proxy does what is done to
// the data, until Cut; Reopen makes another one.
type Link struct {
	proxy.Server
	addr, to string
	closing  sync.WaitGroup
}

// attempts is for how many ports New goes on when others are faster.
const attempts = 5

// New makes a link to an address, host:port.
func New(to string) (*Link, error) {
	var last error
	for range attempts {
		from, err := ports.Free(1)
		if err != nil {
			return nil, err
		}
		l := &Link{addr: from[0], to: to}
		if last = l.open(); last == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("network to %s: %w", to, last)
}

// Addr is where clients find the service through the link, host:port.
func (l *Link) Addr() string { return l.addr }

func (l *Link) open() error {
	p := proxy.NewServer(proxy.ServerConfig{
		Logger: zap.NewNop(),
		From:   url.URL{Scheme: "tcp", Host: l.addr}, // it listens on all interfaces all the same
		To:     url.URL{Scheme: "tcp", Host: l.to},
	})
	select {
	case <-p.Ready():
	case err := <-p.Error():
		return err
	}
	go func() {
		for { // it stands still when nobody hears its errors
			select {
			case <-p.Error():
			case <-p.Done():
				return
			}
		}
	}()
	l.Server = p
	return nil
}

// Cut breaks all connections; what is under way is lost.
func (l *Link) Cut() {
	l.PauseRx() // a proxy that is closed hangs up on what it has paused
	l.PauseTx()
	p := l.Server
	l.closing.Go(func() { _ = p.Close() }) // it waits until both ends hang up
	<-p.Done()
}

// Reopen has the network work again after a cut. The old proxy may still have the
// port, for a moment, and does not say when it has let go of it.
func (l *Link) Reopen(ctx context.Context) error {
	for {
		err := l.open()
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("network to %s: %w (%w)", l.to, err, context.Cause(ctx))
		}
	}
}

// Close may be called when the processes at both ends are gone.
func (l *Link) Close() {
	l.Cut()
	l.closing.Wait()
}
